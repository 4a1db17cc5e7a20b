from django.apps import AppConfig


class DealsiteConfig(AppConfig):
    name = "dealsite"

    def ready(self) -> None:
        import dealsite.engine.checks  # noqa: F401 - which registers it
