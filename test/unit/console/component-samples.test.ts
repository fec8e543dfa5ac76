import { globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const CONSOLE = resolve(import.meta.dirname, '../../../src/console');
const COMPONENTS = ['components/**/*.tsx', 'charts/**/*.tsx'];

/** The modules of the console that a module imports, below its folder. */
function importsOf(file: string): readonly string[] {
  const text = readFileSync(join(CONSOLE, file), 'utf8').replaceAll(/^import type [^;]*;/gm, '');
  return [...text.matchAll(/\bfrom '(\.[^']+)'/g)].map(([, path = '']) => join(dirname(file), path));
}

describe('the page of the components', () => {
  const components = new Set(COMPONENTS.flatMap((pattern) => globSync(pattern, { cwd: CONSOLE })));

  it('draws every component and every chart, by itself or as a part of another one', () => {
    expect(components.size).toBeGreaterThan(25);
    const view = 'settings/components-view.tsx';
    const drawn = [view];
    // The list grows while it is walked.
    for (const file of drawn) {
      const next = importsOf(file).filter(
        (each) => components.has(each) || each.startsWith('settings/component-samples/'),
      );
      drawn.push(...next.filter((each) => !drawn.includes(each)));
    }
    expect([...components].filter((file) => !drawn.includes(file))).toEqual([]);
  });

  it('lists every sample', () => {
    const listed = importsOf('settings/components-view.tsx');
    const samples = globSync('settings/component-samples/*-sample.tsx', { cwd: CONSOLE });
    expect(samples.filter((file) => !listed.includes(file))).toEqual([]);
  });
});
