"""The session of every Python client with a store: all tools, resources and prompts, and all kinds of errors."""

import asyncio
import contextlib
import io
import json
from pathlib import Path

EXAMPLES = json.loads((Path(__file__).parent / "examples.json").read_text())


def report(client, *sessions):
    """Runs the sessions and prints one line; fails if one failed, or if the client printed anything."""
    printed = io.StringIO()
    errors = 0
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            for session in sessions:
                counts = asyncio.run(session())
                errors += counts["errors"]
    except BaseException:
        print(printed.getvalue())
        raise
    assert not printed.getvalue(), f"{client} printed something: {printed.getvalue()}"
    tools, resources, prompts = counts["tools"], counts["resources"], counts["prompts"]
    print(f"{client}: {tools} tools, {resources} resources, {prompts} prompts, {errors} errors")


async def run_session(session, error_type, unknown_store):
    """`error_type` is what the client raises for a protocol error; `unknown_store` connects to a store that
    does not exist and checks the error."""
    tools = await use_tools(session)
    resources = await read_resources(session)
    prompts = await get_prompts(session)

    async def fails(call, *codes):
        try:
            answer = await call
        except error_type as error:
            assert error.error.code in codes, error
            assert len(error.error.message) > 10, error
        else:
            raise AssertionError(f"no error: {answer}")

    async def provoke(tool, arguments, code):
        call = session.call_tool(tool, arguments)
        if isinstance(code, int):
            return await fails(call, code)
        answer = plain(await call)
        assert answer["isError"] and "structuredContent" not in answer, answer
        check_error(json.loads(answer["content"][0]["text"]), code)

    errors = [
        *(lambda wrong=wrong: provoke(**wrong) for wrong in EXAMPLES["errors"]),
        lambda: fails(session.read_resource("souk://demo-store/nothing"), -32602, -32002),
        lambda: fails(session.get_prompt("no_such_prompt"), -32602),
        lambda: fails(session.get_prompt(next(iter(EXAMPLES["prompts"]))), -32602),
        *(lambda store=store: unknown_store(**store) for store in EXAMPLES["stores"]),
    ]
    for error in errors:
        await error()
        await still_works(session)
    return {"tools": tools, "resources": resources, "prompts": prompts, "errors": len(errors)}


def plain(answer):
    """The JSON as sent over the wire; the two major versions of the client name its fields differently."""
    return answer.model_dump(mode="json", by_alias=True, exclude_none=True)


async def use_tools(session):
    listed = plain(await session.list_tools())["tools"]
    # Tools that require a key or a cart are only listed here; the tests of the whole application call them.
    known = {*EXAMPLES["tools"], *EXAMPLES["keyed"]}
    assert {tool["name"] for tool in listed} == known, "tools/list and examples.json differ"
    for name, arguments in EXAMPLES["tools"].items():
        # The clients validate the result against the output schema and raise.
        answer = plain(await session.call_tool(name, arguments))
        assert not answer.get("isError"), (name, answer)
        assert answer.get("structuredContent"), (name, answer)
        assert json.loads(answer["content"][0]["text"]) == answer["structuredContent"], name
    return len(listed)


async def read_resources(session):
    resources = plain(await session.list_resources())["resources"]
    for resource in resources:
        content = plain(await session.read_resource(resource["uri"]))["contents"][0]
        assert content["uri"] == resource["uri"]
        assert content["mimeType"] == resource["mimeType"]
        assert len(content["text"]) > 300, content
        if content["mimeType"] == "application/json":
            json.loads(content["text"])
    return len(resources)


async def get_prompts(session):
    prompts = plain(await session.list_prompts())["prompts"]
    assert {prompt["name"] for prompt in prompts} == set(EXAMPLES["prompts"])
    for name, arguments in EXAMPLES["prompts"].items():
        message = plain(await session.get_prompt(name, arguments))["messages"][0]
        assert message["role"] == "user"
        assert next(iter(arguments.values())) in message["content"]["text"], message
    return len(prompts)


def check_error(envelope, code):
    assert envelope["error"] == code, envelope
    assert len(envelope["message"]) > 10, envelope
    assert envelope["details"]["request_id"].startswith("req_"), envelope


async def still_works(session):
    answer = plain(await session.call_tool("get_merchant_profile", {}))
    assert not answer.get("isError") and answer["structuredContent"], "the connection did not survive an error"
