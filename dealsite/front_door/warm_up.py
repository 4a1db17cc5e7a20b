"""What the first visitor would otherwise wait for, done before a web process takes connections."""

from urllib.parse import urlsplit
from wsgiref.util import setup_testing_defaults

from django.conf import settings
from django.template.loader import get_template

from dealsite.front_door.answers import Application, answer_of

# Finding its view imports all of them, and it has what all pages have. Without the table's answer it is whole as well,
# after the seconds that any page waits. Where nothing is searched for, nothing is counted.
PAGE = "/search/"
PUBLIC = "shopping/catalogue"


def warm_up(application: Application) -> None:
    """Read the templates of the public pages, and make one page as for a visitor; 1 request at most."""
    folder = settings.BASE_DIR / "templates"
    for template in sorted((folder / PUBLIC).glob("*.html")):
        get_template(str(template.relative_to(folder)))
    own = urlsplit(settings.DEALSITE_URL)
    environ = {"PATH_INFO": PAGE, "HTTP_HOST": own.netloc, "wsgi.url_scheme": own.scheme}
    setup_testing_defaults(environ)  # what else WSGI asks for
    answer_of(application, environ).close()
