import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listReleaseFiles } from '../../../../../src/daemon/parse/offline/release-files.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const NEVER = new AbortController().signal;

describe('the files to parse', () => {
  it('are those of a folder in the order of destinations, without following links', async () => {
    const root = await temporaryDirectory();
    await mkdir(join(root, 'b/empty'), { recursive: true });
    const decomposed = 'か\u3099.txt';
    for (const name of ['b/1.json', 'a.json', 'b.json', decomposed]) await writeFile(join(root, name), '');
    await symlink(root, join(root, 'loop'));
    const found = await listReleaseFiles(root, null, NEVER);
    expect(found.ok && found.value).toEqual([
      { path: join(root, 'a.json'), destination: 'a.json' },
      { path: join(root, 'b.json'), destination: 'b.json' },
      { path: join(root, 'b/1.json'), destination: 'b/1.json' },
      { path: join(root, 'loop'), destination: 'loop' },
      { path: join(root, decomposed), destination: 'が.txt' },
    ]);
  });

  it('are one file, also behind a link, under the destination that is given', async () => {
    const root = await temporaryDirectory();
    await writeFile(join(root, 'real.json'), '');
    await symlink('real.json', join(root, 'link.json'));
    const path = join(root, 'real.json');
    const named = await listReleaseFiles(join(root, 'link.json'), null, NEVER);
    expect(named).toEqual({ ok: true, value: [{ path, destination: 'link.json' }] });
    const given = await listReleaseFiles(path, 'a/b.json', NEVER);
    expect(given).toEqual({ ok: true, value: [{ path, destination: 'a/b.json' }] });
  });

  it.each([
    ['missing', null, /missing cannot be read: ENOENT/],
    ['a.json', '/a', /must not begin with "\/"; give one with --as/],
    ['.', 'a', /^--as: is only for a file/],
  ])('are refused for %s under %s', async (name, destination, problem) => {
    const root = await temporaryDirectory();
    await writeFile(join(root, 'a.json'), '');
    const found = await listReleaseFiles(join(root, name), destination, NEVER);
    expect(found).toEqual({ ok: false, error: expect.stringMatching(problem) as string });
  });
});
