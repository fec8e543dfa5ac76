import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PUBLIC_OPERATIONS } from '../../src/contract/operations/operations-public.ts';
import { listOperations } from '../../src/contract/operations/operations.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  ...globSync('docs/**/*.md', { cwd: ROOT }),
];

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
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
    const targets = new Set([...read('Makefile').matchAll(/^([a-z][a-z-]*):/gm)].map(([, name]) => name));
    const named = PAGES.flatMap((file) => {
      const text = read(file);
      const code = [...text.matchAll(/```[a-z]*\n([\s\S]*?)```|`([^`\n]+)`/g)].map(
        ([, block, span]) => block ?? span ?? '',
      );
      return code.flatMap((each) =>
        [...each.matchAll(/^\s*make ([a-z][a-z-]*)/gm)].map(([, name = '']) => ({ file, name })),
      );
    });
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter(({ name }) => !targets.has(name))).toEqual([]);
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
