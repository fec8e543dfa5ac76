import { matchesGlob } from 'node:path/posix';
import { assert, constantFrom, property, array } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGlobFilter, globProblem } from '../../../../src/platform/config/glob-filter.ts';
import { createGlobTest } from '../../../../src/platform/config/glob.ts';

describe('a glob', () => {
  it.each<[glob: string, matching: string[], others: string[]]>([
    ['**', ['a', 'a/b/c', '.a/.b'], []],
    ['*', ['a', '.a'], ['a/b']],
    ['a/**', ['a/b', 'a/b/c'], ['a', 'ab/c', 'b/a/c']],
    ['**/*.zip', ['a.zip', 'a/b.zip', 'a/b/.zip'], ['a.zip/b', 'a.zipx']],
    ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['ab', 'a/xb', 'a/b/x', 'x/a/b']],
    ['**/a/**/**/b', ['a/b', 'x/a/y/b'], ['b', 'a']],
    ['*/catalog_[A-Z]*.zip', ['a/catalog_Ab.zip'], ['a/catalog_ab.zip', 'catalog_A.zip']],
    ['a[!b-d^-]?', ['aex', 'a😀😀'], ['abx', 'acx', 'a^x', 'a-x', 'a/x', 'ae']],
    ['[^a]', ['b'], ['a', '/']],
    ['{Android,iOS}_PatchPack/**', ['iOS_PatchPack/a'], ['Windows_PatchPack/a', 'iOS_PatchPack']],
    ['{a,b/{c,d*},**/e}.{x,y}', ['a.x', 'b/c.y', 'b/d1.x', 'q/e.y', 'e.x'], ['b/.x', 'a.z', 'c.x']],
    ['x{,/y}', ['x', 'x/y'], ['y']],
    ['\\[x\\]\\*,\\{', ['[x]*,{'], ['[x]a,{', 'x']],
    ['[\\]\\[*]', [']', '[', '*'], ['a']],
  ])('%s', (glob, matching, others) => {
    const test = createGlobTest(glob);
    expect(matching.filter((path) => !test(path))).toEqual([]);
    expect(others.filter((path) => test(path))).toEqual([]);
  });

  it('matches the same paths as the globs of Node', () => {
    const globs = array(constantFrom('a', 'b', 'c', '/', '*', '?', '**/', '/**', '[ab]', '[!a]', '{a,bc}'), {
      minLength: 1,
      maxLength: 8,
    });
    const path = array(constantFrom('a', 'b', 'c', '/'), { minLength: 1, maxLength: 8 });
    const isPath = (text: string): boolean => text.split('/').every((segment) => segment !== '');
    let compared = 0;
    assert(
      property(globs, array(path, { minLength: 20, maxLength: 20 }), (tokens, texts) => {
        const glob = tokens.join('');
        if (globProblem(glob) !== null) return;
        const test = createGlobTest(glob);
        for (const text of texts.map((letters) => letters.join('')).filter(isPath)) {
          expect([glob, text, test(text)]).toEqual([glob, text, matchesGlob(text, glob)]);
          compared += 1;
        }
      }),
      { numRuns: 2000 },
    );
    expect(compared).toBeGreaterThan(5000);
  });

  it.each([
    ['', 'segment'],
    ['/a', 'relative'],
    ['a/', 'segment'],
    ['a//b', 'segment'],
    ['./a', 'segment'],
    ['a{/,b}/c', 'segment'],
    ['!a', 'exclude'],
    ['!(a)', 'exclude'],
    ['+(a)', '"("'],
    ['a)', '")"'],
    ['a}', '"}"'],
    ['a]', '"]"'],
    ['a|b', '"|"'],
    ['[', '"]"'],
    ['[]', 'without characters'],
    ['[z-a]', 'range'],
    ['[a/b]', '"/"'],
    ['[[:alpha:]]', '"["'],
    ['{a,b', '"}"'],
    ['{a}', 'comma'],
    ['{1..3}', 'comma'],
    ['a\\', '"\\"'],
    ['a**', 'whole segment'],
    ['***', 'whole segment'],
    ['{a,b}'.repeat(9), '256'],
  ])('%j is refused', (glob, reason) => {
    expect(globProblem(glob)).toContain(reason);
  });

  it('takes bounded time, whatever upstream calls its files', () => {
    const names = Array.from({ length: 60 }, (_, index) => `a/${'-'.repeat(239 - (index % 2))}`);
    const exclude = [
      '**/*-*-*-*.bundle',
      '**/*-*-*-*-*-*-*-*-*-*-*-*-*-*.bundle',
      '**/**/*-*/**/*-*-*-*/**/x',
    ];
    const filter = createGlobFilter({ include: [], exclude });
    const start = performance.now();
    expect(names.filter((name) => filter?.(name))).toEqual(names);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});
