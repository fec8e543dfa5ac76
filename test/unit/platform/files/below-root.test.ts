import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  findBelowRoot,
  findBelowRootSync,
  placeBelowRoot,
} from '../../../../src/platform/files/below-root.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** A root with the file a/b.txt, a folder, and links that stay within it and that leave it. */
async function world(): Promise<{ readonly root: string; readonly outside: string }> {
  const folder = realpathSync(await temporaryDirectory());
  const [root, outside] = [join(folder, 'root'), join(folder, 'outside')];
  mkdirSync(join(root, 'a'), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(root, 'a/b.txt'), 'inside');
  writeFileSync(join(outside, 'secret.txt'), 'outside');
  symlinkSync('a/b.txt', join(root, 'in.txt'));
  symlinkSync('../outside/secret.txt', join(root, 'out.txt'));
  symlinkSync('../outside', join(root, 'door'));
  return { root, outside };
}

const LEAVING = [
  '../outside/secret.txt',
  '/etc/passwd',
  'a/../../x',
  './a',
  'a//b.txt',
  'a\\b.txt',
  'a\0',
  '',
];

describe.each([
  ['findBelowRoot', findBelowRoot],
  ['findBelowRootSync', async (root: string, path: string) => findBelowRootSync(root, path)],
])('%s', (_, find) => {
  it('finds files and links within the root, and says when there is none', async () => {
    const { root } = await world();
    expect(await find(root, 'a/b.txt')).toBe(join(root, 'a/b.txt'));
    expect(await find(root, 'in.txt')).toBe(join(root, 'a/b.txt'));
    expect(await find(root, 'a/c.txt')).toBeNull();
    expect(await find(root, 'a/b.txt/c')).toBeNull();
    expect(await find(join(root, 'none'), 'a')).toBeNull();
  });

  it.each([...LEAVING, 'out.txt', 'door/secret.txt', 'a'])('refuses %j', async (path) => {
    const { root } = await world();
    await expect(find(root, path)).rejects.toMatchObject({ code: 'invalid_path' });
  });
});

describe('placeBelowRoot', () => {
  it('makes the root and the folders of the path', async () => {
    const { root } = await world();
    const place = await placeBelowRoot(join(root, 'new'), 'x/y/z.txt');
    writeFileSync(place, 'written');
    expect(readFileSync(join(root, 'new/x/y/z.txt'), 'utf8')).toBe('written');
    expect(await placeBelowRoot(root, 'out.txt')).toBe(join(root, 'out.txt'));
  });

  it.each([...LEAVING, 'door/new.txt', 'a', 'in.txt/x'])('refuses %j', async (path) => {
    const { root } = await world();
    await expect(placeBelowRoot(root, path)).rejects.toMatchObject({ code: 'invalid_path' });
  });
});
