"""A web application with a cache of its own that is never older than the link to the primary.

    pip install flask larder
    REDIS_URL=redis://127.0.0.1:6379 flask --app profiles run

The profile of a user is a hash `profile:<name>`. The application follows the server that has them: it reads them from its own memory, and keeps the
pages that it has made of them until it hears that a profile has changed. Nothing is asked of the server to answer a GET, and no page
outlives the news of a change: what the link has brought is shown, and while it is broken pages say so.

With servers that fork their workers (gunicorn, uwsgi) `create_app` is to be called in the worker, as they do unless told to preload.
"""

import html
import os
import threading

from flask import Flask, Response, abort, request

import larder

PREFIX = "profile:"


class Pages:
    """Pages by the keys of what they show. A page is kept only if no news has come since its data was read."""

    def __init__(self, replica):
        self.replica = replica
        self.kept = {}
        self.lock = threading.Lock()
        self.events = replica.events([PREFIX + "*"])
        self.made = 0

    def page(self, key, make):
        """The page of a key, made of its fields if it is not kept; None if there are none."""
        with self.lock:
            # What has come is older than what is read afterwards.
            while (event := self.events.poll()) is not None:
                if event.key is None:
                    self.kept.clear()
                else:
                    self.kept.pop(event.key, None)
            if key not in self.kept:
                fields = self.replica.hgetall(key)
                if not fields:
                    return None
                self.kept[key] = make(fields)
                self.made += 1
            return self.kept[key]

    def forget(self, key):
        """What this process has changed itself: the news of it may come a moment after the change can be read."""
        with self.lock:
            self.kept.pop(key, None)


def profile_page(fields):
    rows = (f"<tr><th>{html.escape(name)}<td>{html.escape(value)}" for name, value in sorted(fields.items()))
    return f"<!doctype html><title>Profile</title><table>{''.join(rows)}</table>"


def create_app(url=None):
    app = Flask(__name__)
    replica = larder.Replica(
        url or os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"),
        patterns=[PREFIX + "*"],
        decode_responses=True,
        link_timeout=3,
    )
    app.replica = replica
    app.pages = Pages(replica)

    @app.get("/profiles/<name>")
    def show(name):
        page = app.pages.page(PREFIX + name, profile_page)
        if page is None:
            abort(404)
        response = Response(page)
        if replica.status().link != "up":
            response.headers["Warning"] = '110 - "Response is Stale"'
        return response

    @app.post("/profiles/<name>")
    def change(name):
        # Returns when the change can be read here: the next GET of this process shows it.
        replica.hset(PREFIX + name, mapping=request.form.to_dict())
        app.pages.forget(PREFIX + name)
        return "", 204

    @app.delete("/profiles/<name>")
    def delete(name):
        replica.delete(PREFIX + name)
        app.pages.forget(PREFIX + name)
        return "", 204

    return app
