"""The routes: text into values, one call of the project, a reply. Nothing about labeling is decided here."""

# No postponed annotations here: FastAPI reads them, and some are local to a function.

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.types import ASGIApp

from gcbr.annotate import messages, views
from gcbr.annotate.access import Access, Caller, Denied, Guard
from gcbr.annotate.exports import Exports
from gcbr.annotate.project import NotFound, Project, Refused, checked_name
from gcbr.annotate.store import StorageError
from gcbr.errors import InputError

HERE = Path(str(files(__package__)))

DESCRIPTION = """Everything the page does. A program sends the token of the printed link as
`Authorization: Bearer TOKEN` and its own name as `X-Annotator`. Every change carries a `request` of the
caller's making: sent again, after a lost reply, it changes nothing twice."""

PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": messages.Problem, "description": "A request that is not even text."},
    401: {"model": messages.Problem, "description": "No session, or a wrong token."},
    403: {"model": messages.Problem, "description": "Another site's page, or no CSRF token."},
    411: {"model": messages.Problem, "description": "A request that does not say how long it is."},
    413: {"model": messages.Problem, "description": "A request that is too long."},
    422: {"model": messages.Problem, "description": "A request that cannot be understood."},
}
CHANGES = PROBLEMS | {
    404: {"model": messages.Problem, "description": "No such node."},
    409: {"model": messages.Problem, "description": "The labeling stands otherwise."},
    507: {"model": messages.Problem, "description": "The disk is full: nothing was saved."},
}
NODES = PROBLEMS | {404: CHANGES[404]}


STATUS: dict[type[Exception], int] = {StorageError: 507, Refused: 409, NotFound: 404, InputError: 422}


def build_app(project: Project, access: Access) -> ASGIApp:
    """The whole app, guard included."""
    app = FastAPI(
        title="gcbr label",
        version="1",
        description=DESCRIPTION,
        docs_url=None,  # FastAPI's own page loads scripts from elsewhere
        redoc_url=None,
        openapi_url=None,
    )
    app.add_exception_handler(Denied, _reply(lambda error: error.status, lambda error: error.detail))
    app.add_exception_handler(RequestValidationError, _reply(_always(422), _first_mistake))
    for kind, status in STATUS.items():
        app.add_exception_handler(kind, _reply(_always(status), str))
    app.include_router(_api(project, Exports(project), access), prefix="/api")
    _add_pages(app, project, access)
    app.mount("/static", StaticFiles(directory=HERE / "static"))
    return Guard(app, access)


def _api(project: Project, exports: Exports, access: Access) -> APIRouter:
    api = APIRouter()

    def caller(request: Request) -> Caller:
        return access.caller(request)

    def annotator(request: Request) -> str:
        name = access.caller(request).annotator
        if name is None:
            raise Denied(401, "Say who you are first: the name stands beside every answer.")
        return checked_name(name)

    Somebody = Annotated[Caller, Depends(caller)]
    Annotator = Annotated[str, Depends(annotator)]
    NodePath = Annotated[int, InPath(ge=0, le=2**53)]

    @api.post(
        "/login", responses=PROBLEMS | {429: {"model": messages.Problem, "description": "Too many tries."}}
    )
    def log_in(login: messages.Login, response: Response) -> messages.Session:
        """Begin a session with the password, where one is set."""
        access.check_password(login.password)
        _set_cookie(response, access)
        return messages.Session(annotator=None, annotators=[])

    @api.get("/session", responses=PROBLEMS)
    def session(somebody: Somebody) -> messages.Session:
        """Who one is, and who has answered so far."""
        return messages.Session(annotator=somebody.annotator, annotators=sorted(project.annotators()))

    @api.post("/session", responses=PROBLEMS)
    def join(who: messages.Join, somebody: Somebody) -> messages.Session:
        """Say who is labeling in this browser."""
        name = checked_name(who.name)
        if somebody.session is not None:
            somebody.session.annotator = name
        return messages.Session(annotator=name, annotators=sorted(project.annotators()))

    @api.get("/turn", responses=PROBLEMS)
    def turn(who: Annotator) -> messages.Turn:
        """The node to answer now; it stays in one's hands until it is answered or the page is closed."""
        return views.turn(project, who)

    @api.get("/state", responses=PROBLEMS)
    def state(who: Annotator) -> messages.State:
        """Where the labeling stands."""
        project.renew(who)
        return views.state(project, who)

    @api.get("/nodes/{node}", responses=NODES)
    def node(node: NodePath, _: Somebody) -> messages.NodeView:
        """Everything there is to see of a node."""
        return views.node(project, node)

    @api.post("/answers", responses=CHANGES)
    def answer(act: messages.LabelAct, who: Annotator) -> messages.Recorded:
        """Label a node. It is on the disk when the reply comes."""
        row = project.answer(who, act.node, act.label, act.request, is_new=act.new_class)
        return views.recorded(project, row)

    @api.post("/skips", responses=CHANGES)
    def skip(act: messages.NodeAct, who: Annotator) -> messages.Recorded:
        """Set a node aside."""
        return views.recorded(project, project.skip(who, act.node, act.request))

    @api.post("/undo", responses=CHANGES)
    def undo(act: messages.Act, who: Annotator) -> messages.Recorded:
        """Take back one's own last act."""
        return views.recorded(project, project.undo(who, act.request))

    @api.post("/corrections", responses=CHANGES)
    def correct(act: messages.LabelAct, who: Annotator) -> messages.Recorded:
        """Replace the label of a node; where opinions differ, this settles it."""
        row = project.correct(who, act.node, act.label, act.request, is_new=act.new_class)
        return views.recorded(project, row)

    @api.post("/withdrawals", responses=CHANGES)
    def withdraw(act: messages.NodeAct, who: Annotator) -> messages.Recorded:
        """Take a label or a skip away: the node can be asked again."""
        return views.recorded(project, project.withdraw(who, act.node, act.request))

    @api.post("/budget", responses=CHANGES)
    def extend(extension: messages.Extension, _: Annotator) -> messages.Budget:
        """Raise the number of labels to be had."""
        return messages.Budget(budget=project.extend(extension.more))

    @api.get("/labels", responses=PROBLEMS)
    def labels(
        _: Somebody,
        search: Annotated[str, Query(max_length=200)] = "",
        label: Annotated[str | None, Query(max_length=200)] = None,
        annotator: Annotated[str | None, Query(max_length=200)] = None,
        status: Literal["all", "labeled", "skipped", "disputed"] = "all",
        offset: Annotated[int, Query(ge=0, le=2**53)] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
    ) -> messages.LabelPage:
        """The answers that stand, the newest first."""
        return views.label_page(project, search, label, annotator, status, offset, limit)

    @api.get("/agreement", responses=PROBLEMS)
    def agreement(_: Somebody) -> messages.AgreementPage:
        """Nodes that several people have answered, and where they differ."""
        return views.agreement_page(project)

    @api.get("/exports", responses=PROBLEMS)
    def list_exports(_: Somebody) -> messages.ExportPage:
        """The files written so far, and those under way."""
        return views.export_page(exports)

    @api.post("/exports", status_code=202, responses=PROBLEMS)
    def export(order: messages.ExportOrder, _: Somebody) -> messages.ExportBegun:
        """Have labels and predictions written into the project's folder of exports."""
        return messages.ExportBegun(name=exports.begin(order.format))

    @api.get(
        "/exports/{name}",
        responses=NODES | {200: {"content": {"application/octet-stream": {}}}},
        response_class=FileResponse,
    )
    def download(name: Annotated[str, InPath(max_length=300)], _: Somebody) -> FileResponse:
        """A file that was exported."""
        path = exports.path_of(name)
        if path is None:
            raise NotFound("There is no export of this name.")
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")

    return api


def _add_pages(app: FastAPI, project: Project, access: Access) -> None:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def page(name: str, status: int = 200, **values: object) -> HTMLResponse:
        values = {"csrf": "", "graph": project.settings.graph, "annotator": None, "page": name, **values}
        return HTMLResponse(environment.get_template(f"{name}.html.jinja").render(values), status)

    def closed() -> HTMLResponse:
        return page("login") if access.has_password else page("closed", 401)

    def for_annotators(name: str) -> Callable[[Request], HTMLResponse]:
        def show(request: Request) -> HTMLResponse:
            session = access.session_of(request)
            if session is None:
                return closed()
            if session.annotator is None:
                return page("join", csrf=session.csrf, annotators=sorted(project.annotators()))
            return page(name, csrf=session.csrf, annotator=session.annotator)

        return show

    @app.get("/", include_in_schema=False)
    def home(request: Request, token: str | None = None) -> Response:
        if token is None:
            return for_annotators("label")(request)
        if not access.is_token(token):
            return closed()
        response = RedirectResponse("/", 303)  # the token leaves the address bar and the history
        if access.session_of(request) is None:
            _set_cookie(response, access)
        return response

    app.get("/labels", include_in_schema=False, response_class=HTMLResponse)(for_annotators("labels"))

    @app.get("/docs", include_in_schema=False)
    def docs(request: Request) -> HTMLResponse:
        session = access.session_of(request)
        if session is None:
            return closed()
        return page("docs", csrf=session.csrf, annotator=session.annotator, api=app.openapi())

    @app.get("/openapi.json", include_in_schema=False)
    def openapi(request: Request) -> JSONResponse:
        access.caller(request)
        return JSONResponse(app.openapi())


def _set_cookie(response: Response, access: Access) -> None:
    response.set_cookie(access.cookie, access.begin_session(), httponly=True, samesite="strict", path="/")


def _reply(
    status: Callable[[Any], int], sentence: Callable[[Any], str]
) -> Callable[[Request, Exception], Response]:
    def reply(_: Request, error: Exception) -> Response:
        # A text may hold half a surrogate pair, which no reply can.
        text = sentence(error).encode(errors="replace").decode()
        return JSONResponse({"detail": text}, status(error))

    return reply


def _always(status: int) -> Callable[[Any], int]:
    return lambda _: status


def _first_mistake(error: RequestValidationError) -> str:
    mistake = error.errors()[0]
    place = ".".join(str(part) for part in mistake["loc"])
    return f"{place}: {mistake['msg']}."
