"""Signatures as providers make them, by python's own hmac."""
import base64
import hashlib
import hmac


def mac(key, message):
    return hmac.new(key, message, hashlib.sha256).digest()


def standard_webhooks(secret, body, now_s, message_id="msg_1"):
    """Headers of Standard Webhooks; secret is `whsec_` and base64."""
    stamp = str(int(now_s))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signature = base64.b64encode(mac(key, f"{message_id}.{stamp}.".encode() + body)).decode()
    return {"webhook-id": message_id, "webhook-timestamp": stamp,
            "webhook-signature": f"v1,{signature}"}


def stamped(header, secret, body, now_s, version="v0"):
    """`t=...,v0=...`"""
    stamp = str(int(now_s))
    signature = mac(secret.encode(), stamp.encode() + b"." + body).hex()
    return {header: f"t={stamp},{version}={signature}"}
