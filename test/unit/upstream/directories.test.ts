import { execFileSync } from 'node:child_process';
import { mkdir, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { OwnedUpstreamAdapter } from '../../../src/upstream/adapters/connect-upstream.ts';
import { generateRelease, serverInfoDocument } from '../../support/generate-release.ts';
import { collect } from '../../support/collect.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import {
  adapterFor,
  freeSignal,
  readAll,
  readBody,
  upstreamErrorOf,
} from '../../support/upstream-harness.ts';

function directoryAdapter(path: string, section: object = {}, more: object = {}): OwnedUpstreamAdapter {
  return adapterFor({ kind: 'directory', directory: { path, ...section }, ...more });
}

/** Writes a file with a fixed modification time. */
async function put(root: string, name: string, text: string, seconds = 1_700_000_000): Promise<void> {
  await mkdir(join(root, name, '..'), { recursive: true });
  await writeFile(join(root, name), text);
  await utimes(join(root, name), seconds, seconds);
}

describe('directory upstream', () => {
  test('reads a release, its server-info and its files', async () => {
    const root = await temporaryDirectory();
    const release = generateRelease({
      releaseId: 'r90_abc',
      seed: 1,
      appVersion: '1.67.0',
      serverInfoRoot: 'https://patch.example/r90_abc',
    });
    await release.writeDirectory(root);
    const adapter = directoryAdapter(root);
    const { catalog, entries } = await readAll(adapter);
    expect(catalog.releaseId).toBe('r90_abc');
    expect(catalog.appVersion).toBe('1.67.0');
    expect(String(Buffer.from(catalog.serverInfo ?? []))).toBe(
      serverInfoDocument('https://patch.example/r90_abc'),
    );
    expect(entries.map((entry) => entry.destination).sort()).toEqual([...release.files.keys()].sort());
    for (const entry of entries) {
      expect(await readBody(adapter, entry)).toEqual(release.files.get(entry.destination));
    }
  });

  test('lists in byte order of the destinations and omits dotfiles', async () => {
    const root = await temporaryDirectory();
    const names = ['a/b', 'a-b', 'a.b', 'a0', 'ab/c', 'ab', 'é', '日', '\u{1f600}', '\uff21'].filter(
      (name) => name !== 'ab',
    );
    for (const name of [...names, '.git/config', '.DS_Store', 'a/.hidden']) await put(root, name, 'x');
    const { entries } = await readAll(directoryAdapter(root));
    expect(entries.map((entry) => entry.destination)).toEqual(
      names.sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right))),
    );
  });

  test('derives a release id that is stable for an unchanged tree and differs on every change', async () => {
    const root = await temporaryDirectory();
    await put(root, 'a', 'one');
    await put(root, 'b/c', 'two');
    const idOf = async (): Promise<string> => (await readAll(directoryAdapter(root))).catalog.releaseId;
    const first = await idOf();
    expect(first).toMatch(/^dir-[0-9a-f]{16}$/);
    expect(await idOf()).toBe(first);
    const seen = new Set([first]);
    await put(root, 'a', 'one', 1_700_000_001);
    seen.add(await idOf());
    await put(root, 'a', 'longer', 1_700_000_001);
    seen.add(await idOf());
    await put(root, 'd', 'new');
    seen.add(await idOf());
    await rm(join(root, 'd'));
    await put(root, 'c', 'one');
    seen.add(await idOf());
    expect(seen.size).toBe(5);
  });

  test('another server-info document is another catalog of the same release', async () => {
    const root = await temporaryDirectory();
    await put(root, 'a', 'one');
    const before = await readAll(directoryAdapter(root));
    const seen = new Set([before.catalog.fingerprint()]);
    for (const document of ['{}', '{"a":1}']) {
      await put(root, 'server-info.json', document);
      const { catalog } = await readAll(directoryAdapter(root));
      expect(catalog.releaseId).toBe(before.catalog.releaseId);
      expect(catalog.etag).not.toBe(before.catalog.etag);
      seen.add(catalog.fingerprint());
    }
    expect(seen.size).toBe(3);
  });

  test('uses the configured release id, and another name for the server-info document', async () => {
    const root = await temporaryDirectory();
    await put(root, 'info.json', '{"a":1}');
    await put(root, 'server-info.json', 'an entry now');
    const { catalog, entries } = await readAll(
      directoryAdapter(root, { releaseId: 'mine', serverInfoFile: 'info.json' }),
    );
    expect(catalog.releaseId).toBe('mine');
    expect(String(Buffer.from(catalog.serverInfo ?? []))).toBe('{"a":1}');
    expect(entries.map((entry) => entry.destination)).toEqual(['server-info.json']);
  });

  test('answers null while nothing changed', async () => {
    const root = await temporaryDirectory();
    await put(root, 'a', 'one');
    const adapter = directoryAdapter(root);
    const { catalog } = await readAll(adapter);
    expect(await adapter.fetchCatalog(catalog.etag, freeSignal())).toBeNull();
    await put(root, 'a', 'two', 1_700_000_009);
    expect(await adapter.fetchCatalog(catalog.etag, freeSignal())).not.toBeNull();
  });

  test.each(['link', 'sub/link'])('refuses the symbolic link %s and names it', async (name) => {
    const root = await temporaryDirectory();
    await put(root, 'sub/a', 'one');
    await symlink('/etc', join(root, name));
    const error = await upstreamErrorOf(readAll(directoryAdapter(root)));
    expect(error.code).toBe('catalog_invalid');
    expect(error.message).toContain(`${name}" is a symbolic link`);
  });

  test('refuses special files and bad names', async () => {
    const root = await temporaryDirectory();
    execFileSync('mkfifo', [join(root, 'pipe')]);
    const special = await upstreamErrorOf(readAll(directoryAdapter(root)));
    expect(special.message).toContain('pipe" is neither a file nor a directory');
    await rm(join(root, 'pipe'));
    await put(root, 'back\\slash', 'x');
    expect((await upstreamErrorOf(readAll(directoryAdapter(root)))).code).toBe('destination_invalid');
    await rm(join(root, 'back\\slash'));
    await writeFile(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0xfe])]), 'x');
    const notText = await upstreamErrorOf(readAll(directoryAdapter(root)));
    expect(notText.message).toContain('not valid UTF-8');
  });

  test('reports a root that is missing, empty, a file or too large', async () => {
    const root = await temporaryDirectory();
    expect((await upstreamErrorOf(readAll(directoryAdapter(root)))).code).toBe('catalog_empty');
    const missing = await upstreamErrorOf(readAll(directoryAdapter(join(root, 'missing'))));
    expect(missing).toMatchObject({ code: 'upstream_unreachable', retryable: true });
    expect(missing.message).toContain('upstream.directory.path');
    await put(root, 'a', '1');
    await put(root, 'sub/b', '2');
    const file = await upstreamErrorOf(readAll(directoryAdapter(join(root, 'a'))));
    expect(file.message).toContain('must name a directory');
    const large = await upstreamErrorOf(readAll(directoryAdapter(root, {}, { maxEntries: 1 })));
    expect(large.code).toBe('catalog_too_large');
    expect(await directoryAdapter(root).probe(freeSignal())).toMatchObject({ ok: true });
    expect(await directoryAdapter(join(root, 'missing')).probe(freeSignal())).toMatchObject({ ok: false });
  });

  test.each([
    '{',
    '[]',
    '{"release_id":7}',
    '{"release_id":"../x"}',
    '{"release_id":"r","app_version":"a b"}',
  ])('refuses release.json %j', async (text) => {
    const root = await temporaryDirectory();
    await put(root, 'a', '1');
    await put(root, 'release.json', text);
    expect((await upstreamErrorOf(readAll(directoryAdapter(root)))).code).toBe('catalog_invalid');
  });

  test('notices a tree that changes while it is listed', async () => {
    const root = await temporaryDirectory();
    await put(root, 'a', 'one');
    const catalog = await directoryAdapter(root).fetchCatalog(null, freeSignal());
    await put(root, 'b', 'two');
    const error = await upstreamErrorOf(collect(catalog!.entries(freeSignal())));
    expect(error).toMatchObject({ code: 'catalog_changed', retryable: true });
  });

  test('notices a file that changed since it was listed, before and while it is read', async () => {
    const root = await temporaryDirectory();
    await put(root, 'a', 'x'.repeat(1_000_000));
    await put(root, 'b', 'x');
    await put(root, 'c', 'x');
    const adapter = directoryAdapter(root);
    const { entries } = await readAll(adapter);
    const [a, b, c] = entries;
    const body = await adapter.open(a!, { start: 0, validator: null }, freeSignal());
    const iterator = body.chunks[Symbol.asyncIterator]();
    await iterator.next();
    await truncate(join(root, 'a'), 300_000);
    const rest = collect({ [Symbol.asyncIterator]: () => iterator });
    expect(await upstreamErrorOf(rest)).toMatchObject({ code: 'catalog_changed', retryable: true });
    await put(root, 'b', 'y', 1_700_000_005);
    expect((await upstreamErrorOf(readBody(adapter, b!))).code).toBe('catalog_changed');
    await rm(join(root, 'c'));
    const missing = await upstreamErrorOf(readBody(adapter, c!));
    expect([missing.code, missing.message]).toEqual([
      'catalog_changed',
      expect.stringMatching(/\/c" is not there; put the file back, or run sync/),
    ]);
    await symlink('/etc/hostname', join(root, 'c'));
    expect((await upstreamErrorOf(readBody(adapter, c!))).code).toBe('catalog_changed');
  });

  test('resumes at an offset only under the validator of the same file', async () => {
    const root = await temporaryDirectory();
    await put(root, 'a', '0123456789');
    const adapter = directoryAdapter(root);
    const { entries } = await readAll(adapter);
    const whole = await adapter.open(entries[0]!, { start: 4, validator: 'other' }, freeSignal());
    expect(whole.start).toBe(0);
    expect(String(Buffer.concat(await collect(whole.chunks)))).toBe('0123456789');
    const part = await adapter.open(entries[0]!, { start: 4, validator: whole.validator }, freeSignal());
    expect(part.start).toBe(4);
    expect(String(Buffer.concat(await collect(part.chunks)))).toBe('456789');
  });
});
