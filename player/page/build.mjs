// Bundles the page into one file, bundle/verify.html, whose content security policy names its own scripts and style by
// their hashes and allows nothing else. The script is packed, so that the page stays small, and unpacks itself: the policy
// has the hash of what comes out as well. The same sources give the same bytes on every machine: Node's own zlib would not.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import { deflateSync } from "fflate";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bundled = async (file, format = "iife") => {
  const made = await build({
    entryPoints: [join(root, "page", file)], absWorkingDir: root, bundle: true, minify: true, format, target: "es2022",
    charset: "utf8", legalComments: "none", write: false, logLevel: "warning",
  });
  return made.outputFiles[0].text.trim();
};
const hash = (text) => createHash("sha256").update(text).digest("base64");

const script = await bundled("page.ts");
const style = await bundled("style.css");
const { TEXTS } = await import(`data:text/javascript,${encodeURIComponent(await bundled("texts.ts", "esm"))}`);
const packed = Buffer.from(deflateSync(Buffer.from(script), { level: 9 })).toString("base64");
const loader = `(async()=>{const b=Uint8Array.from(atob("${packed}"),c=>c.charCodeAt(0)),s=document.createElement("script");`
  + `s.textContent=await new Response(new Blob([b]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();`
  + `document.body.append(s)})().catch(()=>document.body.append(${JSON.stringify(TEXTS.tooOld)}))`;
const allowed = `script-src 'sha256-${hash(loader)}' 'sha256-${hash(script)}'; style-src 'sha256-${hash(style)}'`;
const policy = `default-src 'none'; ${allowed}; base-uri 'none'; form-action 'none'`;
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="cutcard-key" content="">
<meta name="cutcard-policy" content="">
<title>Check a hand</title>
<style>${style}</style>
</head>
<body><script>${loader}</script></body>
</html>
`;
const out = join(root, "bundle", "verify.html");
writeFileSync(out, page);
const digest = createHash("sha256").update(page).digest("hex");
console.log(`player/bundle/verify.html  ${Buffer.byteLength(page)} bytes  sha256 ${digest}`);
