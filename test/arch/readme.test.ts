import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { LANES } from '../../scripts/test/stages.ts';
import { PUBLIC_OPERATIONS } from '../../src/contract/operations/operations-public.ts';
import { listOperations } from '../../src/contract/operations/operations.ts';

/** A piece of code of a page. */
interface Command {
  readonly file: string;
  readonly code: string;
}

const ROOT = resolve(import.meta.dirname, '../..');
const PAGES = globSync('{*,{.github,docs}/**/*}.md', { cwd: ROOT });
const TARGETS = new Set([...read('Makefile').matchAll(/^([a-z][a-z-]*):/gm)].map(([, name = '']) => name));
const COMMANDS = PAGES.flatMap((file) => codeIn(read(file)).map((code): Command => ({ file, code })));

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** The blocks and spans of code of a page. */
function codeIn(text: string): string[] {
  return [...text.matchAll(/```[a-z]*\n([\s\S]*?)```|`([^`\n]+)`/g)].map(
    ([, block, span]) => block ?? span ?? '',
  );
}

/** The table that follows a line. */
function tableAfter(text: string, line: string): string {
  const [, after = ''] = text.split(line);
  return after.trimStart().split(/\n\n/)[0] ?? '';
}

/** A path with anonymous parameters, so that only its shape counts. */
function shapeOf(path: string): string {
  return path.replace(/\?.*$/, '').replaceAll(/\{[^}]*\}/g, '{}');
}

describe('the written pages', () => {
  it('link only to files that exist', () => {
    const broken = PAGES.flatMap((file) =>
      [...read(file).matchAll(/\]\((?![a-z][a-z0-9+.-]*:|#)([^)#\s]+)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !existsSync(join(ROOT, dirname(file), target)))
        .map((target) => `${file}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('name only make targets that exist', () => {
    const named = COMMANDS.flatMap(({ file, code }) =>
      [...code.matchAll(/(?:^|[;&|])\s*make ([a-z][a-z-]*)/gm)].map(([, name = '']) => ({ file, name })),
    );
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter(({ name }) => !TARGETS.has(name))).toEqual([]);
  });

  it('name only scripts of npm that exist', () => {
    const named = COMMANDS.flatMap(({ file, code }) =>
      [...code.matchAll(/(?:^|[;&|])\s*npm (?:run ([a-z][a-z:-]*)|(test|start)\b)/gm)].map(
        ([, script, short]) => ({ file, name: script ?? short ?? '' }),
      ),
    );
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter(({ name }) => !(name in manifest.scripts))).toEqual([]);
  });
});

describe('the page for contributors', () => {
  const files = codeIn(read('CONTRIBUTING.md')).flatMap((code) =>
    [...code.matchAll(/(?:^|[\s"(])((?:\.ci|cmd|docs|scripts|src|test)\/[\w./-]+)/gm)].map(
      ([, path = '']) => path,
    ),
  );

  it('names only files that exist', () => {
    expect(files.length).toBeGreaterThan(20);
    expect(files.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('names only stages and tiers that exist', () => {
    const code = codeIn(read('CONTRIBUTING.md')).join('\n');
    const stages = [...code.matchAll(/node scripts\/test\.ts ([a-z -]+)$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    );
    const tiers = [...code.matchAll(/--project ([a-z\d]+)/gm)].map(([, name = '']) => name);
    const known = new Set(LANES.flat().map(({ name }) => name));
    expect([stages.length, tiers.length].every((count) => count > 0)).toBe(true);
    expect(stages.filter((name) => !known.has(name))).toEqual([]);
    expect(tiers.filter((name) => !existsSync(join(ROOT, 'test', name)))).toEqual([]);
  });
});

describe('the scripts of npm', () => {
  it('only call make targets that exist', () => {
    const wrong = Object.entries(manifest.scripts).filter(
      ([, command]) => !TARGETS.has(/^make ([a-z-]+)$/.exec(command)?.[1] ?? ''),
    );
    expect(wrong).toEqual([]);
  });

  it('are none that an installation of packages runs', () => {
    const hooks = Object.keys(manifest.scripts).filter((name) =>
      /^(?:pre|post)?(?:install|prepare|prepublish|pack)|^dependencies$/.test(name),
    );
    expect(hooks).toEqual([]);
  });
});

describe('the routes of the README', () => {
  const table = tableAfter(read('README.md'), 'Routes that clients use:');
  const routes = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\/[^`]*)`/g)].map(([, path = '']) => path),
  );
  const shapes = listOperations().map(({ path }) => shapeOf(path));

  it('are read from its table', () => {
    expect(routes).toContain('/v1/bootstrap');
    expect(routes.length).toBeGreaterThan(8);
  });

  it('are operations of the contract', () => {
    // A resource path is one parameter in the contract; it includes a release id in front of a destination.
    const [resource = ''] = PUBLIC_OPERATIONS.getResource.path.split('{path}');
    const unknown = routes.filter((route) => {
      if (route.startsWith(resource)) return route.length === resource.length;
      if (route.endsWith('/...')) return !shapes.some((shape) => shape.startsWith(route.slice(0, -3)));
      return !shapes.includes(shapeOf(route));
    });
    expect(unknown).toEqual([]);
  });
});
