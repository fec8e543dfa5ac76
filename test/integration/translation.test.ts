import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture } from '../support/shared-fixture.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';

const TOKEN = 'translation-token-4711';

const table = (...texts: readonly string[]): Buffer =>
  Buffer.from(JSON.stringify(texts.map((Text, at) => ({ Id: at + 1, Text }))));

interface Health {
  readonly service: { readonly reason: string | null };
}

interface World {
  readonly system: TestSystem;
  /** Publishes a release, and waits until its tasks are built. @returns its id */
  readonly publish: (files: Readonly<Record<string, Buffer>>) => Promise<string>;
  readonly get: (path: string) => Promise<{ status: number; body: Record<string, unknown> }>;
  readonly tasksOf: (releaseId: string) => Promise<Record<string, unknown>[]>;
}

/** Each test publishes releases of its own, and leaves the tasks of some release. */
const world = reusedFixture(async (atEnd): Promise<World> => {
  const tokenFile = await writeTokenFile(TOKEN, atEnd);
  const upstream = join(await temporaryDirectory(atEnd), 'upstream');
  await writeReleaseTree(upstream, {
    id: 'r1',
    files: new Map([['a.json', table('おはよう', 'さようなら')]]),
  });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream }, maxAttempts: 1 },
    server: { admin: { tokenFiles: [tokenFile], exposeControl: true } },
    atEnd,
  });
  const get: World['get'] = async (path) => {
    const response = await fetch(`${system.serverUrl}/admin/${path}`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const tasksOf: World['tasksOf'] = async (releaseId) =>
    ((await get(`translation/tasks?release_id=${releaseId}`)).body['items'] ?? []) as Record<
      string,
      unknown
    >[];
  let releases = 1;
  const publish: World['publish'] = async (files) => {
    releases += 1;
    const id = `r${releases}`;
    await writeReleaseTree(upstream, { id, files: new Map(Object.entries(files)) });
    await system.succeed('sync');
    await until(async () => (await tasksOf(id)).length === Object.keys(files).length);
    return id;
  };
  return { system, publish, get, tasksOf };
});

/** Waits until some tasks are built. */
async function untilBuilt(get: World['get']): Promise<void> {
  await until(async () => Number((await get('translation/tasks')).body['total']) > 0);
}

describe('translation tasks of a running system', () => {
  it('keep their ids when the same release is parsed again', async () => {
    const { system, publish, get, tasksOf } = await world();
    const id = await publish({ 'same.json': table('いち', 'に') });
    const built = async (after: unknown): Promise<unknown> => {
      const { body } = await get('parse/text-units');
      const isBuilt = (body['translations'] as { tasks_built?: boolean } | undefined)?.tasks_built === true;
      return isBuilt && body['generation'] !== after ? body['generation'] : null;
    };
    const generation = await until(async () => await built(null));
    const before = await tasksOf(id);
    const again = { id: 'again', group: 'parse', action: 'parse', delay_seconds: 3600 };
    await system.control('schedule-add', again);
    await system.control('schedule-run', { id: 'again' });
    await until(async () => await built(generation));
    expect(await tasksOf(id)).toEqual(before);
    const { body } = await get('parse/text-units');
    expect(body['items']).toMatchObject([
      { carried_by: null, translation: { carried_by: null } },
      { carried_by: null, translation: { carried_by: null } },
    ]);
  });

  it('are built after a release was parsed, and replaced by those of the next one', async () => {
    const { publish, get, tasksOf } = await world();
    const first = await publish({ 'a.json': table('おはよう', 'さようなら') });
    expect(await tasksOf(first)).toMatchObject([
      { destination: 'a.json', status: 'pending', worker_status: 'idle', unit_counts: { untranslated: 2 } },
    ]);
    await publish({ 'a.json': table('おはよう', 'さようなら', 'またね'), 'b.json': table('はい') });
    expect(await tasksOf(first)).toMatchObject([{ status: 'superseded' }]);
    const { body } = await get('diagnostics');
    expect(body['checks']).toContainEqual(
      expect.objectContaining({ id: 'database.translation', status: 'ok', message: 'sound, schema 7' }),
    );
  });

  it('are unavailable with a damaged database, which is left as it is, while the rest works', async () => {
    const { system, get } = await world();
    await untilBuilt(get);
    await system.daemon.stop();
    const path = join(system.directory, 'data', 'translation.db');
    const sound = await readFile(path);
    const damaged = Buffer.alloc(8192, 'not of SQLite at all ');
    await writeFile(path, damaged);
    await system.startDaemon();
    await system.untilReady(true);
    expect((await get('parse/status')).body['release_id']).toMatch(/^r\d+$/);
    const refused = await get('translation/tasks');
    expect(refused).toMatchObject({ status: 503, body: { code: 'backend_unavailable' } });
    expect(refused.body['detail']).toContain('translation');
    const { body } = await get('diagnostics');
    const check = (body['checks'] as { id: string; status: string; message: string }[]).find(
      ({ id }) => id === 'database.translation',
    );
    expect(check).toMatchObject({ status: 'failing' });
    expect(check?.message).toContain('slipway restore');
    const isUnusable = async (): Promise<boolean> =>
      (await (await fetch(`${system.serverUrl}/healthz`)).text()).includes('WorkDatabaseUnusable');
    await until(isUnusable);
    expect(await readFile(path)).toEqual(damaged);
    await system.daemon.stop();
    await writeFile(path, sound);
    await system.startDaemon();
    await until(async () => !(await isUnusable()));
  });

  it('are missed by the state of the service without a question, and nothing empty takes their place', async () => {
    const { system, get } = await world();
    await untilBuilt(get);
    await system.daemon.stop();
    const data = join(system.directory, 'data');
    const lost = (await readdir(data)).filter((name) => name.startsWith('translation.db'));
    const folder = await temporaryDirectory();
    for (const name of lost) await rename(join(data, name), join(folder, name));
    await system.startDaemon();
    const service = await until(async () => {
      const health = (await (await fetch(`${system.serverUrl}/healthz`)).json()) as Health;
      return health.service.reason === 'WorkDatabaseUnusable' ? health.service : null;
    });
    expect(service).toMatchObject({
      state: 'degraded',
      next_step: { text: expect.stringContaining('slipway restore --database NAME') },
    });
    expect((await get('translation/tasks')).body['detail']).toContain('was there before and is missing now');
    expect(await readdir(data)).not.toContain('translation.db');
    await system.daemon.stop();
    for (const name of lost) await rename(join(folder, name), join(data, name));
    await system.startDaemon();
    await until(async () => (await get('translation/tasks')).status === 200);
  });
});
