import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Lease } from '../../../../../src/daemon/translation/work/free-chunks.ts';
import type { ChunkEnd } from '../../../../../src/daemon/translation/work/chunk-leases.ts';
import { countOpenUnits } from '../../../../../src/daemon/translation/work/open-units.ts';
import { NO_PROVENANCE } from '../../../../../src/daemon/translation/work/target-rows.ts';
import { createTranslationWork } from '../../../../../src/daemon/translation/work/translation-work.ts';
import { indexRelease } from '../../../../support/index-release.ts';
import {
  buildTasks,
  openTestWork,
  resultsOf,
  rowsOf,
  type TestWork,
} from '../../../../support/translation-work.ts';

const REQUEST = { owner: 'w1', leaseSeconds: 60, maxAttempts: 2, taskId: null, after: null };

/** One task of some units. */
function open(units = 450): TestWork {
  const work = openTestWork();
  const texts = Array.from({ length: units }, (_, at) => [`k${at}`, `text ${at}`] as const);
  indexRelease(work.index, 'r1', [{ destination: 'a.json', leaves: [{ units: texts }] }]);
  buildTasks(work, 0, 1000);
  return work;
}

function claim(work: TestWork, now: number, owner = 'w1'): Lease {
  const lease = work.leases.claim({ ...REQUEST, owner }, now);
  if (lease === null) throw new Error('nothing to claim');
  return lease;
}

const store = (work: TestWork, lease: Lease, now: number, text = 'T') =>
  work.leases.store(
    lease.token,
    resultsOf(
      lease,
      (at) => `${text}${lease.number}/${at}`,
      (at) => `text ${lease.number * 200 + at}`,
    ),
    NO_PROVENANCE,
    now,
  );

const task = (work: TestWork) => rowsOf(work.database, 'SELECT * FROM task')[0] ?? {};
const written = (work: TestWork): number => rowsOf(work.database, 'SELECT 1 FROM target_history').length;

describe('leases on chunks', () => {
  it('find the next chunk in an index, however many there are', () => {
    const { database } = openTestWork();
    const statements: string[] = [];
    const prepare = (sql: string) => {
      statements.push(sql);
      return database.prepare(sql);
    };
    createTranslationWork({
      database: { ...database, prepare },
      targetLanguage: 'zh-Hans',
      createId: () => 'id',
    });
    const search = statements.find((sql) => sql.includes("chunk.state = 'retry_wait'")) ?? '';
    const plan = rowsOf(database, `EXPLAIN QUERY PLAN ${search}`).map(({ detail }) => String(detail));
    const searched = 'SEARCH chunk USING INDEX chunk_open (state=? AND (task_seq,number)>(?,?))';
    expect(plan.filter((detail) => detail.includes(' chunk '))).toEqual([searched, searched, searched]);
  });

  it('gives workers disjoint chunks of at most 200 units, then nothing', () => {
    const work = open();
    const leases = [claim(work, 1), claim(work, 1, 'w2'), claim(work, 1, 'w3')];
    expect(leases.map(({ units }) => units.length)).toEqual([200, 200, 50]);
    expect(new Set(leases.flatMap(({ units }) => units.map(({ ordinal }) => ordinal))).size).toBe(450);
    expect(work.leases.claim(REQUEST, 1)).toBeNull();
    expect(task(work)).toMatchObject({
      status: 'in_progress',
      worker_status: 'leased',
      lease_owner: 'w1',
      attempt: 1,
    });
  });

  it('writes drafts and ends as `succeeded`', () => {
    const work = open(3);
    const lease = claim(work, 1);
    expect(store(work, lease, 2)).toEqual({
      isHeld: true,
      outcomes: ['draft', 'draft', 'draft'],
    });
    expect(work.leases.end(lease.token, { kind: 'done' }, 3)).toBe(true);
    expect(task(work)).toMatchObject({
      status: 'translated',
      worker_status: 'succeeded',
      draft: 3,
      lease_owner: null,
    });
    expect(work.leases.claim(REQUEST, 4)).toBeNull();
  });

  it('writes nothing with a lease that was lost', () => {
    const work = open(3);
    const lost = claim(work, 1);
    const next = claim(work, 61, 'w2');
    expect(store(work, lost, 62)).toEqual({ isHeld: false, outcomes: [] });
    expect(work.leases.heartbeat(lost.token, 60, 62)).toBe(false);
    expect(work.leases.end(lost.token, { kind: 'failed', reason: 'x' }, 62)).toBe(false);
    expect(written(work)).toBe(0);
    expect(task(work)).toMatchObject({ lease_owner: 'w2', attempt: 2 });
    expect(store(work, next, 63)).toMatchObject({ outcomes: { length: 3 } });
  });

  it('does not write with a lease that has expired, even when nobody took it', () => {
    const work = open(3);
    const lease = claim(work, 1);
    expect(store(work, lease, 61)).toMatchObject({ isHeld: false });
    expect(written(work)).toBe(0);
  });

  it('keeps a lease alive with heartbeats', () => {
    const work = open(3);
    const lease = claim(work, 1);
    expect(work.leases.heartbeat(lease.token, 60, 50)).toBe(true);
    expect(work.leases.claim({ ...REQUEST, owner: 'w2' }, 100)).toBeNull();
    expect(store(work, lease, 100)).toMatchObject({ outcomes: { length: 3 } });
  });

  it('fails a chunk whose lease expires at its last attempt, and takes it again after `reopen`', () => {
    const work = open(3);
    claim(work, 1);
    claim(work, 100);
    expect(work.leases.sweep(200)).toBe(1);
    expect(work.leases.claim(REQUEST, 201)).toBeNull();
    expect(task(work)).toMatchObject({
      status: 'failed',
      worker_status: 'failed',
      failure_reason: 'lease_expired',
    });
    expect(work.leases.reopen(null, 202)).toBe(1);
    expect(task(work)).toMatchObject({ status: 'pending', worker_status: 'idle', failure_reason: null });
    expect(claim(work, 203).attempt).toBe(1);
  });

  it('does not count the attempt of a lease that expired after the end of its process', () => {
    const { database } = open(3);
    let ids = 0;
    const createId = (): string => `lease ${(ids += 1)}`;
    for (const process of [1, 2, 3, 4]) {
      const { leases } = createTranslationWork({ database, targetLanguage: 'zh-Hans', createId });
      expect(leases.claim(REQUEST, process * 100)).toMatchObject({ attempt: 1 });
    }
  });

  it('does not fail a task because one of its chunks failed', () => {
    const work = open(250);
    const first = claim(work, 1);
    const second = claim(work, 1);
    work.leases.end(second.token, { kind: 'failed', reason: 'refused' }, 2);
    store(work, first, 2);
    work.leases.end(first.token, { kind: 'done' }, 2);
    expect(task(work)).toMatchObject({
      status: 'in_progress',
      worker_status: 'failed',
      failure_reason: 'refused',
    });
  });

  it('does not fail a task because some units of its only chunk failed, and a run leaves them alone', () => {
    const work = open(3);
    const lease = claim(work, 1);
    const [first] = resultsOf(
      lease,
      () => 'T',
      () => 'text 0',
    );
    work.leases.store(lease.token, first === undefined ? [] : [first], NO_PROVENANCE, 2);
    work.leases.end(lease.token, { kind: 'failed', reason: 'refused' }, 2);
    expect(task(work)).toMatchObject({
      status: 'in_progress',
      worker_status: 'failed',
      failure_reason: 'refused',
    });
    const run = { taskId: null, maxTasks: 10 };
    expect(countOpenUnits(work.database, run, work.repeated).units).toBe(0);
    expect(work.leases.reopen(null, 3)).toBe(1);
    expect(countOpenUnits(work.database, run, work.repeated).units).toBe(2);
  });

  it('opens a task again that someone called failed', () => {
    const work = open(3);
    work.database.prepare(`UPDATE task SET stored_status = 'failed', failure_reason = 'no budget'`).run();
    expect(work.leases.claim(REQUEST, 1)).toBeNull();
    expect(work.leases.reopen(null, 2)).toBe(0);
    expect(task(work)).toMatchObject({ status: 'pending', failure_reason: null });
    expect(claim(work, 3).units).toHaveLength(3);
  });

  it('waits before the next attempt, and begins again after progress', () => {
    const work = open(3);
    const lease = claim(work, 1);
    work.leases.end(lease.token, { kind: 'retry', reason: 'http 500', nextAttemptAt: 31 }, 2);
    expect(task(work)).toMatchObject({
      worker_status: 'retry_wait',
      next_attempt_at: 31,
      failure_reason: 'http 500',
    });
    expect(work.leases.claim(REQUEST, 30)).toBeNull();
    const again = claim(work, 31);
    expect(again.attempt).toBe(2);
    const some = { ...again, units: again.units.slice(0, 1) };
    expect(store(work, some, 32)).toMatchObject({ outcomes: ['draft'] });
    work.leases.end(again.token, { kind: 'retry', reason: 'http 500', nextAttemptAt: 33 }, 32);
    expect(claim(work, 33)).toMatchObject({ attempt: 2, units: [{ revision: 0 }, { revision: 0 }] });
  });

  it('gives the attempt of a cancelled run back', () => {
    const work = open(3);
    for (let run = 0; run < 5; run += 1) {
      const lease = claim(work, 1);
      expect(lease.attempt).toBe(1);
      work.leases.end(lease.token, { kind: 'cancelled' }, 1);
    }
    expect(task(work)).toMatchObject({ status: 'pending', worker_status: 'cancelled' });
  });

  it('loses against a target that changed after the lease began, and against a person who holds the unit', () => {
    const work = open(4);
    const lease = claim(work, 1);
    const other = { ...lease, units: lease.units.slice(0, 1) };
    expect(store(work, other, 2, 'first')).toMatchObject({ outcomes: ['draft'] });
    const [, second, third] = lease.units;
    const person = work.database.prepare(`INSERT INTO claim VALUES (?, 'zh-Hans', 'person', ?)`);
    person.run(second!.unitId, 100);
    person.run(third!.unitId, 2);
    expect(store(work, lease, 3, 'second')).toEqual({
      isHeld: true,
      outcomes: ['skipped', 'skipped', 'draft', 'draft'],
    });
    const texts = rowsOf(work.database, 'SELECT target_text FROM target_history ORDER BY entry');
    expect(texts.map(({ target_text }) => target_text)).toEqual(['first0/0', 'second0/2', 'second0/3']);
  });

  it('refuses results for units of another chunk or another text', () => {
    const work = open(201);
    const [first, second] = [claim(work, 1), claim(work, 1)];
    const foreign = resultsOf(
      second,
      () => 'T',
      () => 'text 200',
    );
    expect(work.leases.store(first.token, foreign, NO_PROVENANCE, 2)).toMatchObject({
      outcomes: ['skipped'],
    });
    const [result] = resultsOf(
      first,
      () => 'T',
      () => 'text 0',
    );
    const wrong = { ...result!, target: { ...result!.target, sourceDigest: new Uint8Array(32) } };
    expect(work.leases.store(first.token, [wrong], NO_PROVENANCE, 2)).toMatchObject({
      outcomes: ['skipped'],
    });
  });

  it('blocks a target with an error, unless someone has accepted it', () => {
    const work = open(2);
    const lease = claim(work, 1);
    const blocking = {
      check: 'empty_target',
      origin: 'target',
      severity: 'error',
      message: 'is empty',
      waivable: true,
      source_span: null,
      target_span: null,
    } as const;
    const [one, two] = resultsOf(
      lease,
      () => 'T',
      (at) => `text ${at}`,
    ).map(({ target, ...result }) => ({ ...result, target: { ...target, findings: [blocking] } }));
    const waiver = work.database.prepare(
      `INSERT INTO waiver VALUES (?, 'zh-Hans', ?, ?, ?, 'r', 'why', NULL, 1)`,
    );
    const digest = createHash('sha256').update('T').digest();
    waiver.run(two!.target.unitId, 'empty_target', two!.target.sourceDigest, digest);
    expect(work.leases.store(lease.token, [one!, two!], NO_PROVENANCE, 2).outcomes).toEqual([
      'blocked',
      'draft',
    ]);
    expect(task(work)).toMatchObject({ blocked: 1, draft: 1, provider: 'fixture', provider_run_id: 'run-1' });
  });

  it('stays free when it is done and a person held a unit meanwhile', () => {
    const work = open(2);
    const hold = work.database.prepare(`INSERT INTO hold VALUES (?, 'zh-Hans', NULL, NULL, 1)`);
    const lease = claim(work, 1);
    hold.run(lease.units[0]!.unitId);
    expect(store(work, lease, 2).outcomes).toEqual(['skipped', 'draft']);
    work.leases.end(lease.token, { kind: 'done' }, 3);
    work.database.prepare('DELETE FROM hold').run();
    expect(claim(work, 4).units).toHaveLength(1);
  });

  it('shows the next chunk without leasing it, and finds one by its place or below a task', () => {
    const work = open();
    const second = { taskSeq: 1, number: 1 };
    expect(work.leases.peek(REQUEST, 1)).toMatchObject({ number: 0, units: { length: 200 } });
    expect(work.leases.peek({ ...REQUEST, place: second }, 1)).toMatchObject(second);
    expect(work.leases.peek({ ...REQUEST, untilTask: 0 }, 1)).toBeNull();
    expect(work.leases.claim({ ...REQUEST, place: second }, 1)).toMatchObject(second);
    expect(work.leases.claim({ ...REQUEST, place: second }, 1)).toBeNull();
    expect(task(work)).toMatchObject({ attempt: 1, worker_status: 'leased' });
  });

  it('takes back what an earlier process of the same owner left behind, and nothing else', () => {
    const work = open();
    claim(work, 1);
    claim(work, 1, 'w2');
    expect(work.leases.takeBack('w1', 2)).toBe(0);
    const reopened = createTranslationWork({
      database: work.database,
      targetLanguage: 'zh-Hans',
      createId: () => 'id999999',
    });
    expect(reopened.leases.takeBack('w1', 2)).toBe(1);
    expect(rowsOf(work.database, 'SELECT state, attempt, lease_owner FROM chunk ORDER BY number')).toEqual([
      { state: 'idle', attempt: 0, lease_owner: null },
      { state: 'leased', attempt: 1, lease_owner: 'w2' },
      { state: 'idle', attempt: 0, lease_owner: null },
    ]);
  });

  it('property: whatever workers do, only live leases write, and the counts stay those of the units', () => {
    const step = fc.record({
      kind: fc.constantFrom('claim', 'store', 'end', 'beat', 'wait'),
      worker: fc.nat(2),
      end: fc.constantFrom<ChunkEnd['kind']>('done', 'left', 'retry', 'failed', 'cancelled'),
      seconds: fc.nat(70),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const work = open(401);
        const held = new Map<number, Lease & { until: number }>();
        let now = 1;
        let stored = 0;
        for (const { kind, worker, end, seconds } of steps) {
          const lease = held.get(worker);
          if (kind === 'wait') now += seconds;
          else if (kind === 'claim') {
            const next = work.leases.claim({ ...REQUEST, owner: `w${worker}` }, now);
            if (next !== null) held.set(worker, { ...next, until: now + 60 });
          } else if (lease !== undefined) {
            const isLive = now < lease.until;
            if (kind === 'store') {
              const done = store(work, { ...lease, units: lease.units.slice(0, 3) }, now);
              if (done.isHeld) expect(isLive).toBe(true);
              stored += done.outcomes.filter((outcome) => outcome !== 'skipped').length;
            } else if (kind === 'beat') {
              const beat = work.leases.heartbeat(lease.token, 60, now);
              if (beat) held.set(worker, { ...lease, until: now + 60 });
              if (beat) expect(isLive).toBe(true);
            } else {
              const done = work.leases.end(
                lease.token,
                { kind: end, reason: 'x', nextAttemptAt: now + 5 },
                now,
              );
              if (done) expect(isLive).toBe(true);
              held.delete(worker);
            }
          }
        }
        expect(written(work)).toBe(stored);
        const [row] = rowsOf(
          work.database,
          'SELECT draft, untranslated, (SELECT sum(open_units) FROM chunk) AS open FROM task',
        );
        const targets = rowsOf(work.database, 'SELECT 1 FROM target').length;
        expect(row).toEqual({ draft: targets, untranslated: 401 - targets, open: 401 - targets });
      }),
      { numRuns: 30 },
    );
  });
});
