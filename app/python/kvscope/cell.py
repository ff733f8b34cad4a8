# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows for a run. A cell must always show something: whatever goes wrong is said beside the tables."""
from html import escape

from .errors import Error

HEIGHT = 720                                                           # pixels: the page scrolls in its frame


def of_run(run):
    """The replay page in a frame: its script runs, but without this notebook's origin, forms, popups or top window."""
    try:
        page = run.page()
    except Error as error:
        return f"<p>{escape(repr(run))}</p><p>No replay page here: {escape(str(error))}</p>{run.steps()._repr_html_()}"
    told = f"Holds the text of the prompt ({run.n_prompt} tokens): anyone with this notebook can read it."
    inside = page.replace("&", "&amp;").replace('"', "&quot;")         # all that ends an attribute; a notebook keeps what is written here
    return (f'<iframe sandbox="allow-scripts" srcdoc="{inside}" title="{escape(repr(run), quote=True)}" '
            f'style="width:100%;height:{HEIGHT}px;border:1px solid #d5dbe2"></iframe><p><small>{told}</small></p>')
