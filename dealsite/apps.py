from django.apps import AppConfig


class DealsiteConfig(AppConfig):
    name = "dealsite"

    def ready(self) -> None:
        import dealsite.checks  # noqa: F401 - which registers them
