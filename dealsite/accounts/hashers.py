"""How passwords are hashed."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class Argon2id(Argon2PasswordHasher):
    """Argon2id at the cost that OWASP asks for: 19 MiB, 2 passes, 1 lane; about 25 ms."""

    memory_cost = 19_456
    time_cost = 2
    parallelism = 1
