"""The request that a view of the CMS gets: somebody with a role has signed in."""

from dealsite.accounts.requests import UserRequest


class EditorRequest(UserRequest):
    """Of an editor, somebody of the back office, or an admin."""
