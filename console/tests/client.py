"""A small client of the console, made of its OpenAPI document alone: a method for each operation, checked by its schema.

Usage: client.py ADDRESS COOKIE. Prints one line for each operation that it called; ends with 1 at the first mistake.
"""
import json
import sys
import urllib.error
import urllib.parse
import urllib.request

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float), "null": type(None)}


class Client:
    def __init__(self, address, cookie):
        self.address, self.cookie = address, cookie
        self.document = self.send("GET", "/api/openapi.json")
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                setattr(self, operation["operationId"], self.operation(method.upper(), path, operation))

    def send(self, method, path, headers=(), body=None):
        request = urllib.request.Request(f"http://{self.address}{path}", method=method, data=body)
        request.add_header("Cookie", self.cookie)
        for name, value in headers:
            request.add_header(name, value)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def operation(self, method, path, operation):
        def call(body=None, **given):
            query, headers, target = {}, [], path
            for parameter in operation["parameters"]:
                name = parameter["name"]
                value = given.pop(name.replace("-", "_"), None)
                if value is None:
                    if parameter["required"]:
                        raise TypeError(f"{operation['operationId']} needs {name}")
                elif parameter["in"] == "path":
                    target = target.replace("{%s}" % name, urllib.parse.quote(value, safe=""))
                elif parameter["in"] == "query":
                    query[name] = value
                else:
                    headers.append((name, value))
            if given:
                raise TypeError(f"{operation['operationId']} knows no {', '.join(given)}")
            if body is not None:
                headers.append(("Content-Type", next(iter(operation["requestBody"]["content"]))))
                body = body.encode()
            if query:
                target += "?" + urllib.parse.urlencode(query)
            answer = self.send(method, target, headers, body)
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            self.check(answer, schema, operation["operationId"])
            return answer
        return call

    def check(self, value, schema, place):
        if schema is True or schema == {}:
            return
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return self.check(value, self.document["components"]["schemas"][name], place)
        expected = schema.get("type")
        if expected is not None:
            names = expected if isinstance(expected, list) else [expected]
            is_one = any(isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool)) for name in names)
            assert is_one, f"{place}: {value!r} is no {expected}"
        if "enum" in schema:
            assert value in schema["enum"], f"{place}: {value!r} is none of {schema['enum']}"
        if isinstance(value, dict):
            properties = schema.get("properties", {})
            for name in schema.get("required", []):
                assert name in value, f"{place}: {name} is missing"
            for name, part in value.items():
                assert not properties or name in properties, f"{place}: {name} is not described"
                if name in properties:
                    self.check(part, properties[name], f"{place}.{name}")
        if isinstance(value, list) and "items" in schema:
            for index, part in enumerate(value):
                self.check(part, schema["items"], f"{place}[{index}]")


def main():
    client = Client(*sys.argv[1:3])
    shop = {"namespace": "default", "name": "shop"}
    listed = client.Applications(limit=10)
    print("Applications", [one["metadata"]["name"] for one in listed["items"]])
    print("NamespaceApplications", len(client.NamespaceApplications(namespace="default")["items"]))
    for operation in ["Application", "Tree", "Events", "Revisions", "Rollouts", "Workflow", "Explain"]:
        getattr(client, operation)(**shop)
        print(operation)
    client.Compare(**shop, **{"from": "shop-v1", "to": "shop-v2"})
    print("Compare")
    types = client.Definitions()["items"]
    client.Definition(namespace="default", kind=types[0]["kind"], name=types[0]["name"])
    print("Definitions", [one["name"] for one in types])
    token = client.CsrfToken()["token"]
    found = client.DryRun(body="kind: nothing\n", X_Csrf_Token=token)
    print("DryRun", found["valid"])
    plan = client.Plan(body="kind: nothing\n", X_Csrf_Token=token)
    print("Plan", plan["valid"])
    steered = client.Steer(**shop, order="restart", X_Csrf_Token=token)
    print("Steer", steered["summary"]["metadata"]["name"])
    written = json.dumps({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "site"},
                          "spec": {"components": [{"name": "front", "type": "page", "properties": {"image": "nginx"}}]}})
    changes = client.Plan(body=written, X_Csrf_Token=token)["changes"]
    site = {"namespace": "default", "name": "site"}
    deployed = client.Deploy(**site, body=written, resourceVersion=changes["resourceVersion"], X_Csrf_Token=token)
    print("Deploy", deployed["summary"]["metadata"]["name"])
    try:
        client.Application(namespace="default", name="absent")
    except urllib.error.HTTPError as error:
        status = json.load(error)
        client.check(status, client.document["components"]["schemas"]["Status"], "Status")
        print("Status", status["code"])


main()
