from django.apps import AppConfig


class DealsiteConfig(AppConfig):
    name = "dealsite"

    def ready(self) -> None:
        import dealsite.accounts.checks
        import dealsite.checks
        import dealsite.engine.checks  # noqa: F401 - which register them
