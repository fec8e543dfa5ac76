import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { MemoryFiles } from '../../src/localization/memory/store/memory-files.ts';
import { statementOfEnvelope } from '../../src/releases/records/attestation-repository.ts';
import { proposal, trust } from '../support/memory-records.ts';
import { termFields } from '../support/refusal-place.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { startServedTranslation } from '../support/served-translation.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

/** Changes the database of a daemon as a failing disk would: its structure stays sound. */
function damage(system: TestSystem, file: string, sql: string): void {
  const raw = new DatabaseSync(join(system.directory, 'data', file), { timeout: 10_000 });
  try {
    expect(raw.prepare(sql).run().changes).toBeGreaterThan(0);
  } finally {
    raw.close();
  }
}

async function checkOf(system: TestSystem, id: string): Promise<unknown> {
  const answer = await system.askDaemon('/v1/reports/daemon.doctor');
  if (answer.status !== 200) return null;
  const { checks } = (await answer.json()) as { readonly checks: readonly { readonly id: string }[] };
  return checks.find((check) => check.id === id);
}

async function attestedVersion(system: TestSystem): Promise<number | null> {
  const answer = await system.askDaemon('/v1/attestation').catch(() => null);
  if (answer?.status !== 200) return null;
  return statementOfEnvelope(new Uint8Array(await answer.arrayBuffer()))?.version ?? null;
}

/** Starts a daemon with a release. */
async function mainSystem(supervised: boolean): Promise<TestSystem> {
  const upstream = await temporaryDirectory();
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: { sync: { onStart: false } },
    startNothing: true,
    supervised,
  });
  await system.startDaemon();
  await system.succeed('sync');
  return system;
}

describe('a bad value in main.db', () => {
  it('in the state of the attestations does not end the service, and the versions go on', async () => {
    const system = await mainSystem(false);
    const before = (await attestedVersion(system)) ?? Infinity;
    await system.daemon.stop();
    damage(
      system,
      'main.db',
      `UPDATE attestation_state SET payload_sha256 = 'X' || substr(payload_sha256, 2)`,
    );
    const daemon = await system.startDaemon();
    await until(async () => ((await attestedVersion(system)) ?? 0) > before);
    const errors = daemon.lines.filter((line) => line.includes('"level":"error"'));
    expect(errors).toEqual([
      expect.stringContaining('column payload_sha256 of table attestation_state') as unknown,
    ]);
  });

  it('that a running daemon needs makes it start again with a new database, once', async () => {
    const system = await mainSystem(true);
    const before = (await attestedVersion(system)) ?? Infinity;
    damage(system, 'main.db', `UPDATE release SET snapshot_id = 'nonsense'`);
    await until(async () => {
      const found = (await checkOf(system, 'database.main').catch(() => null)) as { status?: string } | null;
      return found?.status === 'degraded';
    });
    expect(await checkOf(system, 'database.main')).toMatchObject({
      message: expect.stringContaining('column snapshot_id of table release has "nonsense"') as unknown,
    });
    await until(async () => ((await attestedVersion(system)) ?? 0) > before);
    expect(system.daemon.lines.filter((line) => line.includes('is kept aside'))).toHaveLength(1);
  });
});

it('a bad value in another database is refused by its name, and nothing else is', async () => {
  const world = await startServedTranslation({ 'a.json': ['はい', 'いいえ'] }, {});
  const { system } = world;
  const get = async (path: string) => await world.get(path);
  expect((await world.post('translation-glossary-add', termFields('values'))).status).toBe(202);
  const text = `?source_text=${encodeURIComponent('はい')}`;
  expect((await get(`translation/memory/query${text}`)).status).toBe(200);
  await system.daemon.stop();
  const main = join(system.directory, 'data', 'memory.db');
  const files = new MemoryFiles({ main, root: main });
  trust(files, proposal('はい', '是'));
  files.close();
  damage(system, 'memory.db', `UPDATE record SET record_id = 'no id at all'`);
  damage(system, 'glossary.db', `UPDATE term SET aliases = 'nonsense'`);
  damage(system, 'translation.db', `UPDATE task SET destination = '/nonsense'`);
  damage(system, 'index.db', `UPDATE unit SET unit_id = x'00'`);
  await system.startDaemon();
  await system.untilReady(true);
  const refused: readonly (readonly [string, string, string])[] = [
    [`translation/memory/query${text}`, 'database.memory', 'column record_id of table record'],
    ['translation/glossary/query', 'database.glossary', 'column aliases of table term'],
    ['translation/tasks', 'database.translation', 'column destination of table task'],
  ];
  for (const [path, check, column] of refused) {
    await until(async () => String((await get(path)).body['detail']).includes(column));
    expect(await get(path)).toMatchObject({ status: 503, body: { code: 'backend_unavailable' } });
    const restore = `slipway restore --database ${check.slice('database.'.length)}`;
    await until(async () => {
      const found = (await checkOf(system, check)) as
        | { readonly status: string; readonly message: string }
        | undefined;
      return found?.status === 'failing' && found.message.includes(column) && found.message.includes(restore);
    });
  }
  expect((await get('translation/memory/summary')).body).toMatchObject({ available: true });
  expect((await get('translation/glossary/summary')).body).toMatchObject({ available: true });
  // What can be made again is made again.
  expect(await get('parse/text-units')).toMatchObject({
    status: 503,
    body: { detail: expect.stringContaining('column unit_id of table unit') as unknown },
  });
  await until(async () => (await get('parse/text-units')).body['total'] === 2);
  expect((await get('parse/status')).body['replaced']).not.toBeNull();
  expect(await attestedVersion(system)).not.toBeNull();
});
