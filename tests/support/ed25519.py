"""Ed25519 (RFC 8032) in plain integers: slow, and independent of the library that aldaba uses."""
import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)  # of -1


def x_of(y, odd):
    """The x of a point by its y; None: there is no such point."""
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if (x * x - square) % P or (x == 0 and odd):
        return None
    return P - x if x & 1 != odd else x


def add(a, b):
    """The sum of two points as (x, y); slow but short."""
    t = D * a[0] * b[0] * a[1] * b[1] % P
    return ((a[0] * b[1] + b[0] * a[1]) * pow(1 + t, P - 2, P) % P,
            (a[1] * b[1] + a[0] * b[0]) * pow(1 - t, P - 2, P) % P)


def times(n, point):
    total = (0, 1)
    while n:
        if n & 1:
            total = add(total, point)
        point = add(point, point)
        n >>= 1
    return total


BASE = (x_of(4 * pow(5, P - 2, P) % P, 0), 4 * pow(5, P - 2, P) % P)


def pack(point):
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def unpack(data):
    number = int.from_bytes(data, "little")
    y = number & (1 << 255) - 1
    x = x_of(y, number >> 255) if y < P else None
    return None if x is None else (x, y)


def number_of(*parts):
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % ORDER


def expand(seed):
    both = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(both[:32], "little")
    return (scalar & (1 << 254) - 8) | 1 << 254, both[32:]


def public_key(seed):
    return pack(times(expand(seed)[0], BASE))


def sign(seed, message):
    scalar, prefix = expand(seed)
    public = public_key(seed)
    nonce = number_of(prefix, message)
    point = pack(times(nonce, BASE))
    answer = (nonce + number_of(point, public, message) * scalar) % ORDER
    return point + answer.to_bytes(32, "little")


def verify(public, signature, message):
    if len(signature) != 64 or len(public) != 32:
        return False
    key, point = unpack(public), unpack(signature[:32])
    answer = int.from_bytes(signature[32:], "little")
    if key is None or point is None or answer >= ORDER:
        return False
    challenge = number_of(signature[:32], public, message)
    return times(answer, BASE) == add(point, times(challenge, key))
