//! Packages `tool/…`: declarations of tasks, data only; nothing here runs them.

use super::Package;

const fn declared(path: &'static str, declarations: &'static str) -> Package {
    Package { path, functions: &[], constants: &[], declarations }
}

pub(super) static TOOL: Package = declared("tool", "");

pub(super) static CLI: Package = declared(
    "tool/cli",
    r#"Print: {$id: _id, _id: *"tool/cli.Print" | "print", text: string}
Ask: {$id: _id, _id: "tool/cli.Ask", prompt: string, response: string | bool}
"#,
);

pub(super) static EXEC: Package = declared(
    "tool/exec",
    r#"Run: {
    $id: _id, _id: *"tool/exec.Run" | "exec"
    cmd: string | [string, ...string], dir?: string, env: *{[string]: string} | [...=~"="]
    stdout: *null | string | bytes, stderr: *null | string | bytes, stdin: *null | string | bytes
    success: bool, mustSucceed: bool | *true
}
"#,
);

pub(super) static FILE: Package = declared(
    "tool/file",
    r#"Read: {$id: _id, _id: "tool/file.Read", filename: !="", contents: *bytes | string}
Append: {$id: _id, _id: "tool/file.Append", filename: !="", permissions: int | *0o666, contents: bytes | string}
Create: {$id: _id, _id: "tool/file.Create", filename: !="", permissions: int | *0o666, contents: bytes | string}
Symlink: {$id: _id, _id: "tool/file.Symlink", filename: !="", target: !=""}
Glob: {$id: _id, _id: "tool/file.Glob", glob: !="", files: [...string]}
Mkdir: {$id: _id, _id: "tool/file.Mkdir", path: string, createParents: bool | *false, permissions: int | *0o777}
MkdirAll: Mkdir & {createParents: true}
MkdirTemp: {$id: _id, _id: "tool/file.MkdirTemp", dir: string | *"", pattern: string | *"", path: string}
RemoveAll: {$id: _id, _id: "tool/file.RemoveAll", path: string, success: bool}
"#,
);

pub(super) static HTTP: Package = declared(
    "tool/http",
    r#"Get: Do & {method: "GET"}
Post: Do & {method: "POST"}
Put: Do & {method: "PUT"}
Delete: Do & {method: "DELETE"}
Do: {
    $id: _id, _id: *"tool/http.Do" | "http"
    method: string, url: string, followRedirects: *true | bool
    tls: {verify: *true | bool, caCert?: bytes | string}
    request: {
        body?: bytes | string
        header: [string]: string | [...string]
        trailer: [string]: string | [...string]
    }
    response: {
        status: string, statusCode: int, body: *bytes | string
        header: [string]: string | [...string]
        trailer: [string]: string | [...string]
    }
}
Serve: {
    $id: _id, _id: "tool/http.Serve"
    listenAddr!: string, routing: {path: *"/" | =~"^/", method?: string}
    request: {
        method: string, url: string, body: *bytes | string, value?: _
        pathValues: [string]: string
        form: [string]: [string, ...string]
        header: [string]: [string, ...string]
        trailer: [string]: [string, ...string]
    }
    response: {
        statusCode?: int, body?: *bytes | string
        header?: [string]: string | [string, ...string]
        trailer?: [string]: string | [string, ...string]
    }
}
"#,
);

pub(super) static OS: Package = declared(
    "tool/os",
    r#"Value: bool | number | *string | null
Name: !="" & !~"^[$]"
Setenv: {$id: _id, _id: "tool/os.Setenv", {[Name]: Value}}
Getenv: {$id: _id, _id: "tool/os.Getenv", {[Name]: Value}}
Environ: {$id: _id, _id: "tool/os.Environ", {[Name]: Value}}
Clearenv: {$id: _id, _id: "tool/os.Clearenv"}
"#,
);
