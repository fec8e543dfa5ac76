import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

/** The modules of `src`, from the bottom to the top, and those that each one may import. The arrows point one way. */
const MODULES: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  contract: ['domain'],
  platform: ['domain', 'contract'],
  formats: ['domain', 'platform'],
  attestation: ['domain', 'contract', 'platform'],
  snapshot: ['domain', 'contract', 'platform'],
  exchange: ['domain', 'contract', 'formats'],
  mirror: ['domain', 'contract', 'platform', 'attestation', 'snapshot'],
  upstream: ['domain', 'contract', 'platform', 'formats', 'attestation', 'mirror'],
  engine: ['domain', 'contract', 'platform', 'snapshot', 'exchange'],
  releases: ['domain', 'contract', 'platform', 'attestation', 'snapshot', 'mirror', 'upstream', 'engine'],
  localization: ['domain', 'contract', 'platform', 'formats', 'snapshot', 'exchange', 'engine', 'releases'],
  daemon: [
    'domain',
    'contract',
    'platform',
    'attestation',
    'snapshot',
    'upstream',
    'engine',
    'releases',
    'localization',
  ],
  server: ['domain', 'contract', 'platform', 'attestation', 'snapshot'],
  operator: ['domain', 'contract', 'platform'],
  cli: ['domain', 'contract', 'platform', 'attestation', 'snapshot', 'exchange', 'mirror'],
  console: ['domain', 'contract'],
};

/** Pure modules that the browser loads, so that it reads texts and files as the other programs do. */
const IN_BROWSER: ReadonlySet<string> = new Set([
  'src/contract/actions/provider-names.ts',
  'src/contract/formats/csv/read-rows.ts',
  'src/contract/formats/exchange-formats.ts',
  'src/contract/formats/glossary/term-import.ts',
  'src/contract/formats/glossary/term-table.ts',
  'src/contract/formats/text-encoding.ts',
  'src/contract/problems/problem-links.ts',
  'src/domain/count-noun.ts',
  'src/domain/is-record.ts',
  'src/domain/glossary/folded-form.ts',
  'src/domain/glossary/scope.ts',
  'src/domain/release/destination.ts',
  'src/domain/release/named-release.ts',
  'src/domain/release/release-history.ts',
  'src/domain/release/tried-body.ts',
  'src/domain/service-state/resume-argument.ts',
  'src/domain/translation/left-out-blockers.ts',
  'src/domain/translation/run-brief.ts',
  'src/domain/translation/task-remark.ts',
  'src/domain/text-bytes.ts',
  'src/domain/text/checks/check-texts.ts',
  'src/domain/text/checks/find-markup.ts',
  'src/domain/text/language-name.ts',
  'src/domain/text/other-languages.ts',
]);

interface Import {
  readonly from: string;
  readonly to: string;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const specifiers = [...text.matchAll(/(?<!['-])\b(?:from|import)\s*\(?\s*'([^']+)'|new URL\('(\.[^']+)'/g)];
  return specifiers.map((match) => ({ from: file, to: match[1] ?? match[2] ?? '' }));
}

function moduleOf(file: string): string {
  return file.split('/')[1] ?? '';
}

/**
 * The two folders beside each other that an import connects: `a/b` and `a/c` for an import of `a/c/e.ts` in `a/b/d.ts`. `null`
 * when one file lies in the folder that has both: a folder may compose the folders in it, and these may use its files.
 */
function siblingsOf({ from, to }: Import): readonly [string, string] | null {
  const [a, b] = [dirname(from).split('/'), dirname(to).split('/')];
  const depth = a.findIndex((name, at) => name !== b[at]);
  if (depth === -1 || depth >= b.length) return null;
  return [a.slice(0, depth + 1).join('/'), b.slice(0, depth + 1).join('/')];
}

/** The circles of a graph, each as a line. */
function circlesOf(arrows: Iterable<readonly [string, string]>): readonly string[] {
  const targets = Map.groupBy(arrows, ([from]) => from);
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (node: string, path: readonly string[]): void => {
    if (path.includes(node)) circles.push([...path.slice(path.indexOf(node)), node].join(' -> '));
    if (done.has(node) || path.includes(node)) return;
    for (const [, to] of targets.get(node) ?? []) visit(to, [...path, node]);
    done.add(node);
  };
  for (const node of targets.keys()) visit(node, []);
  return circles;
}

const sources = globSync('src/**/*.{ts,tsx}', { cwd: ROOT });
const relativeImports = sources
  .flatMap(importsOf)
  .filter(({ to }) => to.startsWith('.'))
  .map(({ from, to }) => ({ from, to: relative(ROOT, resolve(ROOT, dirname(from), to)) }));

describe('the dependency rule', () => {
  it('knows every module', () => {
    expect(new Set(sources.map(moduleOf))).toEqual(new Set(Object.keys(MODULES)));
  });

  it('holds for every import between modules', () => {
    const broken = relativeImports.filter(({ from, to }) => {
      const [source, target] = [moduleOf(from), moduleOf(to)];
      return source !== target && !(MODULES[source] ?? []).includes(target);
    });
    expect(broken).toEqual([]);
  });

  it('allows no import that no file needs', () => {
    const used = new Set(relativeImports.map(({ from, to }) => `${moduleOf(from)} ${moduleOf(to)}`));
    const unused = Object.entries(MODULES).flatMap(([source, targets]) =>
      targets.map((target) => `${source} ${target}`).filter((arrow) => !used.has(arrow)),
    );
    expect(unused).toEqual([]);
  });

  it('leaves no circle between the folders of a folder', () => {
    const arrows = relativeImports.map(siblingsOf).filter((arrow) => arrow !== null);
    expect(arrows.length).toBeGreaterThan(1000);
    expect(circlesOf(arrows)).toEqual([]);
  });

  it('leaves no circle between files, imports of types included', () => {
    expect(circlesOf(relativeImports.map(({ from, to }) => [from, to] as const))).toEqual([]);
  });

  it('keeps src free of cmd, demo and test', () => {
    expect(relativeImports.filter(({ to }) => !to.startsWith('src/'))).toEqual([]);
  });

  it('keeps the pure modules free of Node and of libraries with effects', () => {
    const pure = sources.filter((file) => moduleOf(file) === 'domain' || moduleOf(file) === 'contract');
    const bare = pure.flatMap(importsOf).filter(({ to }) => !to.startsWith('.'));
    // The domain has a table of Unicode alone; the contract reads and describes documents.
    const allowed = { domain: ['get-east-asian-width'], contract: ['zod', 'yaml', 'jsonc-parser'] };
    const foreign = bare.filter(
      ({ from, to }) => !allowed[moduleOf(from) as keyof typeof allowed].includes(to),
    );
    expect(foreign).toEqual([]);
  });

  it('gives the browser only types of other modules and listed pure modules, and only the libraries of its views', () => {
    const inBrowser = sources.filter((file) => moduleOf(file) === 'console');
    const code = inBrowser.map(
      (file) =>
        [
          file,
          readFileSync(join(ROOT, file), 'utf8').replaceAll(/^(?:im|ex)port type [^;]*;/gm, ''),
        ] as const,
    );
    const loaded = code.flatMap(([from, text]) =>
      [...text.matchAll(/(?<!['-])\b(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, to = '']) => ({
        from,
        to,
      })),
    );
    expect(loaded.length).toBeGreaterThan(50);
    const libraries = new Set(['preact', 'preact/hooks', '@preact/signals']);
    const isAllowed = (path: string): boolean => path.startsWith('src/console/') || IN_BROWSER.has(path);
    const foreign = loaded.filter(({ from, to }) =>
      to.startsWith('.') ? !isAllowed(join(dirname(from), to)) : !libraries.has(to),
    );
    expect(foreign).toEqual([]);
  });

  it('has every module that the console imports in the image of its build', () => {
    const stage = /^FROM dependencies AS console\n([^]*?)^FROM /m.exec(
      readFileSync(join(ROOT, 'Dockerfile'), 'utf8'),
    );
    const copied = [...(stage?.[1] ?? '').matchAll(/^COPY src\/(\w+) /gm)].map(([, module]) => module);
    expect(new Set(copied)).toEqual(new Set(['console', ...(MODULES['console'] ?? [])]));
  });

  it('keeps the composition roots small', () => {
    const long = globSync('cmd/**/*.ts', { cwd: ROOT }).filter(
      (file) => readFileSync(join(ROOT, file), 'utf8').split('\n').length > 81,
    );
    expect(long).toEqual([]);
  });

  it('keeps Express and the proxy out of the byte path, and the proxy in one file', () => {
    const importersOf = (library: string): readonly string[] =>
      sources.filter((file) => importsOf(file).some(({ to }) => to === library));
    const express = importersOf('express');
    expect(express).toContain('src/server/app.ts');
    expect(express.filter((file) => /^src\/server\/(?:bytes|fast-path)\//.test(file))).toEqual([]);
    expect(importersOf('http-proxy-middleware')).toEqual(['src/server/admin/daemon-proxy.ts']);
  });

  it('opens the fast path through one file', () => {
    const doors = relativeImports
      .filter(({ from, to }) => /fast-path\//.test(to) && !/fast-path\//.test(from))
      .map(({ to }) => to);
    expect(new Set(doors)).toEqual(new Set(['src/server/fast-path/fast-path.ts']));
  });

  it('imports TypeScript files by their own name', () => {
    expect(relativeImports.filter(({ to }) => !/\.(?:tsx?|json)$/.test(to))).toEqual([]);
  });
});
