import { open, rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { AttestedRelease } from '../../../../../src/domain/verdict/attestation.ts';
import { blake3Hex } from '../../../../../src/platform/hashing/blake3.ts';
import { startTestServer, type TestServer } from '../../../../support/start-test-server.ts';
import { until } from '../../../../support/until.ts';

const CDN_HOST = 'prod-clientpatch.bluearchiveyostar.com';
const MIB = 1024 * 1024;

/** A document of this size with one root. */
function documentOf(bytes: number, root = 'https://official.example/r89'): string {
  const head = `{"AddressablesCatalogUrlRoot":"${root}","Notes":"`;
  return `${head}${'é'.repeat((bytes - head.length - 3) >> 1)}${' '.repeat((bytes - head.length - 3) & 1)}x"}`;
}

const rewritten = (text: string, releaseId = 'r1'): string =>
  text.replace(/https:\/\/official\.example\/\w+/, `https://resources.example.org/${CDN_HOST}/${releaseId}`);

interface Ready extends TestServer {
  readonly official: AttestedRelease;
  /** Attests the release again with another document; resolves when the server has accepted it. */
  attest(serverInfo: AttestedRelease['server_info'], version: number): Promise<void>;
  serverInfo(): Promise<{ status: number; text: string }>;
}

async function ready(document: string): Promise<Ready> {
  const server = await startTestServer({ refresh: false });
  const official = await server.store.addRelease({ releaseId: 'r1', files: { a: 'bytes' }, document });
  const { serving, refresher } = server.parts.room;
  const attest: Ready['attest'] = async (serverInfo, version) => {
    const issuedAt = Math.floor(Date.now() / 1000);
    server.daemon.setEnvelope(
      server.store.attest({ version, issuedAt, official: { ...official, server_info: serverInfo } }),
    );
    await until(() => serving.attestation()?.statement.version === version, 5_000);
  };
  refresher.start();
  await attest(official.server_info, 1);
  await until(() => serving.verdict('official').distributable, 5_000);
  const serverInfo = async (): Promise<{ status: number; text: string }> => {
    const response = await fetch(`${server.url}/v1/server-info`);
    return { status: response.status, text: await response.text() };
  };
  return { ...server, official, attest, serverInfo };
}

describe('/v1/server-info', () => {
  it.each([100, MIB, MIB + 1, 2 * MIB + 1, 4 * MIB])('serves a document of %i bytes', async (size) => {
    const document = documentOf(size);
    expect(Buffer.byteLength(document)).toBe(size);
    const server = await ready(document);
    const answers = await Promise.all([1, 2, 3].map(async () => await server.serverInfo()));
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      expect(text === rewritten(document)).toBe(true);
    }
  });

  it('serves another document of the same release as soon as it is attested', async () => {
    const server = await ready(documentOf(300));
    const before = server.parts.room.serving.state().current.official;
    const next = documentOf(2 * MIB, 'https://official.example/r90');
    await server.attest(await server.store.putDocument(next), 2);
    expect((await server.serverInfo()).text === rewritten(next)).toBe(true);
    const after = server.parts.room.serving.state().current.official;
    expect([after?.releaseId, after?.snapshotId]).toEqual([before?.releaseId, before?.snapshotId]);
    // The manifest was not read again.
    expect(after?.index).toBe(before?.index);
    await server.attest(null, 3);
    expect((await server.serverInfo()).status).toBe(404);
  });

  it.each([100, 3 * MIB])('never serves a damaged document of %i bytes; a new one heals it', async (size) => {
    const document = documentOf(size);
    const server = await ready(document);
    const file = await open(server.store.pathOf(document), 'r+');
    await file.write('X', size - 4);
    await file.close();
    expect((await server.serverInfo()).status).toBe(503);
    const { serving } = server.parts.room;
    expect(serving.verdict('official')).toMatchObject({ distributable: false, reason: 'EntryDamaged' });
    expect((await fetch(`${server.url}/${CDN_HOST}/a`)).status).toBe(503);
    const next = documentOf(size, 'https://official.example/r90');
    await server.attest(await server.store.putDocument(next), 2);
    expect(serving.verdict('official').distributable).toBe(true);
    expect((await server.serverInfo()).text === rewritten(next)).toBe(true);
  });

  it('serves a missing document again as soon as its object is back', async () => {
    const document = documentOf(2 * MIB);
    const server = await ready(document);
    await rm(server.store.pathOf(document));
    expect((await server.serverInfo()).status).toBe(503);
    expect(server.parts.room.serving.verdict('official').reason).toBe('EntryMissing');
    await server.store.putDocument(document);
    await until(async () => (await server.serverInfo()).status === 200, 10_000);
    expect(server.official.server_info?.blake3).toBe(blake3Hex(Buffer.from(document)));
  });
});
