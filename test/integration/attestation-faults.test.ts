import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadSigningKeys, type SigningKey } from '../../src/attestation/keys.ts';
import { signStatement } from '../../src/attestation/sign.ts';
import { makeKeys } from '../support/make-keys.ts';
import { parseEnvelope, parseStatement } from '../../src/contract/formats/attestation-format.ts';
import type { AttestationStatement } from '../../src/domain/verdict/attestation.ts';
import type { SnapshotId } from '../../src/domain/release/digest.ts';
import { startImpostorDaemon } from '../support/impostor-daemon.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSystem, type Readyz, type TestSystem, WITHOUT_TEXTS } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

interface Forge {
  readonly system: TestSystem;
  /** The newest acceptable statement. */
  readonly statement: AttestationStatement;
  /** Signs with the trusted key, or another one. */
  readonly sign: (statement: AttestationStatement, keyName?: 'other') => Buffer;
  /** Sets the envelope that the impostor serves. */
  readonly present: (envelope: Buffer) => void;
  /** Lets the impostor serve an acceptable statement of the next version. @returns it */
  readonly succeed: (changes?: Partial<AttestationStatement>) => AttestationStatement;
  /** Lets it serve one that authorizes the release, and waits until the server uses it. */
  readonly restore: () => Promise<void>;
}

/** A served system whose daemon is replaced by one that serves the envelopes of the test. */
async function forge(atEnd: AtEnd): Promise<Forge> {
  const upstream = await temporaryDirectory(atEnd);
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: WITHOUT_TEXTS,
    server: { daemon: { waitSeconds: 0 } },
    atEnd,
  });
  await system.untilReady(true);
  await system.daemon.kill();
  const original = await readFile(join(system.snapshotRoot, 'attest/current.json'));
  const envelope = parseEnvelope(original);
  if (!envelope.ok) throw new Error(envelope.error);
  const payload = Buffer.from(envelope.value.payload, 'base64');
  const statement = parseStatement(payload);
  if (!statement.ok) throw new Error(statement.error);
  const subjects = (
    JSON.parse(payload.toString()) as { subject: Array<{ digest: { blake3: string; sha256: string } }> }
  ).subject;
  const manifests = new Map(
    subjects.map(({ digest }) => [`blake3:${digest.blake3}` as SnapshotId, digest.sha256] as const),
  );
  const trusted = await signingKeys(join(system.directory, 'keys/signing.key'));
  const other = await signingKeys(await otherKey(atEnd));
  let [newest, current]: [AttestationStatement, Uint8Array] = [statement.value, original];
  const answer: RequestListener = (_request, response) => {
    response.writeHead(200, {
      'content-type': 'application/vnd.dsse.envelope.v1+json',
      etag: `"${String(Math.random())}"`,
    });
    response.end(current);
  };
  await startImpostorDaemon(system, answer, atEnd);
  const sign: Forge['sign'] = (forged, keyName) =>
    signStatement(forged, keyName === 'other' ? other : trusted, manifests);
  const succeed: Forge['succeed'] = (changes = {}) => {
    newest = {
      ...statement.value,
      version: newest.version + 1,
      issued_at: now(),
      expires_at: now() + 3600,
      ...changes,
    };
    current = sign(newest);
    return newest;
  };
  return {
    system,
    get statement() {
      return newest;
    },
    sign,
    present: (bytes) => {
      current = bytes;
    },
    succeed,
    restore: async () => {
      succeed();
      await system.untilReady(true);
      await until(async () => (await lastError(system)) === null);
    },
  };
}

async function signingKeys(file: string): Promise<readonly SigningKey[]> {
  const loaded = await loadSigningKeys([file]);
  if (!loaded.ok) throw new Error(loaded.error.join('; '));
  return loaded.value.keys;
}

async function otherKey(atEnd: AtEnd): Promise<string> {
  const directory = join(await temporaryDirectory(atEnd), 'other');
  await makeKeys(directory);
  return join(directory, 'signing.key');
}

/** The server's error for the newest envelope that it received. */
async function lastError(system: TestSystem): Promise<string | null> {
  const health = (await (await fetch(`${system.serverUrl}/healthz`)).json()) as {
    refresh: { last_error_code: string | null };
  };
  return health.refresh.last_error_code;
}

/** The version of the attestation that the server uses. */
async function attestedVersion({ serverUrl }: TestSystem): Promise<number | undefined> {
  const ready = (await (await fetch(`${serverUrl}/readyz`)).json()) as Readyz;
  return ready.attestation?.version;
}

const now = (): number => Math.floor(Date.now() / 1000);

/** Neighbours that a server without an attestation refuses have different reasons, so that it is seen which one it refused last. */
const REFUSED: ReadonlyArray<readonly [string, string, (forged: Forge) => Buffer]> = [
  [
    'of an older version',
    'AttestationRolledBack',
    ({ sign, statement }) => sign({ ...statement, version: statement.version - 1 }),
  ],
  [
    'of the same version with other words',
    'AttestationInvalid',
    ({ sign, statement }) => sign({ ...statement, expires_at: statement.expires_at + 9999 }),
  ],
  [
    'by another key',
    'AttestationInvalid',
    ({ sign, statement }) => sign({ ...statement, version: statement.version + 1 }, 'other'),
  ],
  [
    'that has expired',
    'AttestationExpired',
    ({ sign, statement }) =>
      sign({ ...statement, version: statement.version + 1, issued_at: now() - 900, expires_at: now() - 300 }),
  ],
  [
    'for another store',
    'AttestationInvalid',
    ({ sign, statement }) =>
      sign({
        ...statement,
        version: statement.version + 1,
        store_id: '00000000-0000-4000-8000-000000000000',
      }),
  ],
  [
    'from the future',
    'AttestationNotYetValid',
    ({ sign, statement }) =>
      sign({
        ...statement,
        version: statement.version + 1,
        issued_at: now() + 3600,
        expires_at: now() + 7200,
      }),
  ],
  [
    'that was tampered with',
    'AttestationInvalid',
    ({ sign, statement }) => {
      const text = sign({ ...statement, version: statement.version + 1 }).toString();
      const envelope = JSON.parse(text) as { payload: string };
      const payload = Buffer.from(envelope.payload, 'base64').toString().replace('"PASSED"', '"FAILED"');
      return Buffer.from(JSON.stringify({ ...envelope, payload: Buffer.from(payload).toString('base64') }));
    },
  ],
];

describe('an attestation', () => {
  const reused = reusedFixture(forge);

  it.each(REFUSED)('%s is refused, and the accepted one stays in force', async (_name, reason, make) => {
    const forged = await reused();
    forged.present(make(forged));
    await expect.poll(async () => await lastError(forged.system)).toBe(reason);
    expect((await fetch(`${forged.system.serverUrl}/readyz`)).status).toBe(200);
    expect((await fetch(forged.system.cdn('empty.bytes'))).status).toBe(200);
    await forged.restore();
  });

  it('that must be refused is refused by a server without an attestation, which serves nothing', async () => {
    const forged = await reused();
    const { system } = forged;
    await system.server.stop();
    let isStarted = false;
    for (const [name, reason, make] of REFUSED.filter(([each]) => !each.includes('version'))) {
      forged.present(make(forged));
      if (!isStarted) await system.startServer();
      isStarted = true;
      await expect.poll(async () => (await system.untilReady(false)).reason, { message: name }).toBe(reason);
      expect((await fetch(system.cdn('empty.bytes'))).status, name).toBe(503);
    }
    await forged.restore();
  });

  it('that expires without a successor ends the serving by itself', async () => {
    const forged = await reused();
    const { system } = forged;
    // One that reaches the server only after its end would be refused.
    await until(async () => {
      const { version, expires_at: end } = forged.succeed({ expires_at: now() + 3 });
      return await until(async () => {
        if ((await attestedVersion(system)) === version) return 'accepted';
        return now() >= end && 'late';
      }).then((outcome) => outcome === 'accepted');
    });
    expect((await system.untilReady(false)).reason).toBe('AttestationExpired');
    expect((await fetch(system.cdn('empty.bytes'))).status).toBe(503);
    await forged.restore();
  });

  it('that withdraws the release ends the serving immediately', async () => {
    const forged = await reused();
    const { official } = forged.statement;
    if (official === null) throw new Error('nothing attested');
    forged.succeed({ official: { ...official, result: 'FAILED' } });
    expect((await forged.system.untilReady(false)).reason).toBe('ReleaseNotAuthorized');
    expect((await fetch(forged.system.cdn('empty.bytes'))).status).toBe(503);
    await forged.restore();
  });
});
