import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MemoryFiles } from '../../src/localization/memory/store/memory-files.ts';
import { proposal, trust } from '../support/memory-records.ts';
import { writeReleaseTree } from '../support/release-tree.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';
import { proposeRecords } from '../../src/localization/memory/store/memory-writer.ts';

const TOKEN = 'memory-token-4711';

interface World {
  readonly system: TestSystem;
  readonly main: string;
  /** Asks the server; gives status and body. */
  readonly ask: (path: string, body?: object) => Promise<[number, Record<string, unknown>]>;
}

/** A system whose data folder is prepared before it starts. */
async function world(prepare: (main: string) => Promise<void> | void): Promise<World> {
  const tokenFile = await writeTokenFile(TOKEN);
  const upstream = join(await temporaryDirectory(), 'upstream');
  await writeReleaseTree(upstream, {
    id: 'r1',
    files: new Map([['a.json', Buffer.from('{"Text":"はい"}')]]),
  });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream }, maxAttempts: 1 },
    server: { admin: { tokenFiles: [tokenFile], exposeControl: true } },
    startNothing: true,
  });
  const data = join(system.directory, 'data');
  await mkdir(data, { recursive: true });
  const main = join(data, 'memory.db');
  await prepare(main);
  await Promise.all([system.startDaemon(), system.startServer()]);
  const ask: World['ask'] = async (path, body) => {
    const response = await fetch(`${system.serverUrl}/admin/${path}`, {
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    return [response.status, (await response.json()) as Record<string, unknown>];
  };
  await until(async () => (await ask('translation/memory/summary'))[0] === 200);
  return { system, main, ask };
}

const QUERY = `translation/memory/query?source_text=${encodeURIComponent('はい')}`;

describe('the Translation Memory', () => {
  it('is asked and changed through the server, and is as before after a kill', async () => {
    const [first, second] = [proposal('はい', '是'), proposal('はい', '好')];
    const { system, ask } = await world((main) => {
      const files = new MemoryFiles({ main, root: main });
      trust(files, first);
      files.write(null, (store) => proposeRecords(store, [second], 100));
      files.close();
    });
    expect(await ask(QUERY)).toMatchObject([
      200,
      { decision: 'reuse', matches: [{ score: 100 }, { score: 70 }] },
    ]);
    const confirmation = { record_id: second.record_id, reviewer: 'mika' };
    expect(await ask('control/translation-memory-confirm', confirmation)).toMatchObject([
      502,
      { code: 'daemon_rejected', daemon: { status: 409, code: 'trusted_conflict' } },
    ]);
    expect(await ask('control/translation-memory-confirm', { ...confirmation, force: true })).toMatchObject([
      202,
      { status: 'succeeded', result: { record: { state: 'trusted' } } },
    ]);
    await system.daemon.kill();
    await system.startDaemon();
    await until(async () => (await ask('translation/memory/conflicts'))[0] === 200);
    expect(await ask('translation/memory/conflicts')).toMatchObject([
      200,
      { total: 1, groups: [{ records: [{ record_id: first.record_id }, { record_id: second.record_id }] }] },
    ]);
    const resolution = {
      winner_record_id: second.record_id,
      expected_trusted_record_ids: [first.record_id, second.record_id],
      reviewer: 'mika',
      reason: 'the better one',
    };
    expect((await ask('control/translation-memory-resolve-conflict', resolution))[0]).toBe(202);
    expect(await ask(QUERY)).toMatchObject([200, { decision: 'reuse', matches: [{ proposed_text: '好' }] }]);
    expect((await ask(`${QUERY}&translation_memory_path=..%2Fmemory.db`))[0]).toBe(400);
  });

  it('that is damaged makes only its own reports and actions unavailable', async () => {
    const damage = Buffer.alloc(8192, 'x');
    const { system, main, ask } = await world(async (file) => await writeFile(file, damage));
    expect(await ask('translation/memory/summary')).toMatchObject([200, { available: false }]);
    expect((await ask(QUERY))[0]).toBe(503);
    expect((await ask('translation/memory/conflicts'))[0]).toBe(503);
    expect(
      await ask('control/translation-memory-confirm', { record_id: 'tm_x', reviewer: 'mika' }),
    ).toMatchObject([502, { daemon: { code: 'backend_unavailable' } }]);
    const [, doctor] = await ask('diagnostics');
    expect(doctor['checks']).toContainEqual(
      expect.objectContaining({
        id: 'database.memory',
        status: 'failing',
        message: expect.stringContaining('restore memory.db from a backup') as unknown,
      }),
    );
    await system.untilReady(true);
    expect((await ask('parse/status'))[0]).toBe(200);
    expect((await readFile(main)).equals(damage)).toBe(true);
  });
});
