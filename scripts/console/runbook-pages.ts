import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findTools, type Bundle } from './bundle.ts';
import { ROOT } from './console-inputs.ts';

const RUNBOOKS = join(ROOT, 'docs/runbooks');

/** The part of marked that is used. */
interface Marked {
  new (...extensions: readonly object[]): { parse(markdown: string): string };
}

interface Link {
  readonly href: string;
  readonly tokens: readonly unknown[];
}

interface Renderer {
  readonly parser: { parseInline(tokens: readonly unknown[]): string };
}

/**
 * Renders `docs/runbooks` as plain pages, with the style of the console and without a script that they need. The README is the
 * index of the folder. Links to other guides become text: a server has only its runbooks.
 */
export async function writeRunbooks(folder: string, bundle: Bundle): Promise<void> {
  const { Marked } = (await import(
    pathToFileURL(join(await findTools(), 'marked/lib/marked.esm.js')).href
  )) as {
    readonly Marked: Marked;
  };
  const marked = new Marked({ renderer: { link: renderLink } });
  await mkdir(folder);
  for (const file of await readdir(RUNBOOKS)) {
    const name = basename(file, '.md');
    const html = marked.parse(await readFile(join(RUNBOOKS, file), 'utf8'));
    const page = name === 'README' ? 'index' : name;
    await writeFile(
      join(folder, `${page}.html`),
      pageOf(name === 'README' ? 'Runbooks' : name, html, bundle),
    );
  }
}

function renderLink(this: Renderer, { href, tokens }: Link): string {
  const text = this.parser.parseInline(tokens);
  const runbook = /^(\w+)\.md$/.exec(href)?.[1];
  return runbook === undefined ? text : `<a href="${runbook === 'README' ? './' : runbook}">${text}</a>`;
}

function pageOf(title: string, html: string, { style, firstPaint }: Bundle): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="robots" content="noindex" />
    <title>${title} - Slipway</title>
    <link rel="icon" href="../icon.svg" type="image/svg+xml" />
    <script src="../${firstPaint}"></script>
    <link rel="stylesheet" href="../${style}" />
  </head>
  <body class="runbook-page">
    <nav><a href="../">Console</a> <a href="./">All runbooks</a></nav>
    <main class="runbook">
${html}    </main>
  </body>
</html>
`;
}
