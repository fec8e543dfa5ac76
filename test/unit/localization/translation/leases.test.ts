import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Lease } from '../../../../src/localization/translation/work/leases/chunk-leases.ts';
import type { ChunkEnd } from '../../../../src/localization/translation/work/leases/chunk-leases.ts';
import { NO_PROVENANCE } from '../../../../src/localization/translation/work/store/target-rows.ts';
import { indexRelease } from '../../../support/index-release.ts';
import {
  buildTasks,
  openTestWork,
  workIn,
  resultsOf,
  rowsOf,
  type TestWork,
} from '../../../support/translation-work.ts';

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
  const lease = work.at(now).claimChunk({ ...REQUEST, owner });
  if (lease === null) throw new Error('nothing to claim');
  return lease;
}

const store = (work: TestWork, lease: Lease, now: number, text = 'T') => {
  const { event: _event, ...stored } = work.at(now).storeResults({
    token: lease.token,
    results: resultsOf(
      lease,
      (at) => `${text}${lease.number}/${at}`,
      (at) => `text ${lease.number * 200 + at}`,
    ),
    provenance: NO_PROVENANCE,
  });
  return stored;
};

const task = (work: TestWork) => rowsOf(work.database, 'SELECT * FROM task')[0] ?? {};
const written = (work: TestWork): number => rowsOf(work.database, 'SELECT 1 FROM target_history').length;

describe('leases on chunks', () => {
  it('find the next chunk in an index, however many there are', () => {
    const work = openTestWork();
    const statements: string[] = [];
    const prepare = (sql: string) => {
      statements.push(sql);
      return work.database.prepare(sql);
    };
    workIn({ ...work, database: { ...work.database, prepare } }, () => 'id').claimChunk(REQUEST);
    const search = statements.find((sql) => sql.includes("chunk.state = 'retry_wait'")) ?? '';
    const plan = rowsOf(work.database, `EXPLAIN QUERY PLAN ${search}`).map(({ detail }) => String(detail));
    const searched = 'SEARCH chunk USING INDEX chunk_open (state=? AND (task_seq,number)>(?,?))';
    expect(plan.filter((detail) => detail.includes(' chunk '))).toEqual([searched, searched, searched]);
  });

  it('gives workers disjoint chunks of at most 200 units, then nothing', () => {
    const work = open();
    const leases = [claim(work, 1), claim(work, 1, 'w2'), claim(work, 1, 'w3')];
    expect(leases.map(({ units }) => units.length)).toEqual([200, 200, 50]);
    expect(new Set(leases.flatMap(({ units }) => units.map(({ ordinal }) => ordinal))).size).toBe(450);
    expect(work.at(1).claimChunk(REQUEST)).toBeNull();
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
    expect(work.at(3).endLease({ token: lease.token, outcome: { kind: 'done' } })).toBe(true);
    expect(task(work)).toMatchObject({
      status: 'translated',
      worker_status: 'succeeded',
      draft: 3,
      lease_owner: null,
    });
    expect(work.at(4).claimChunk(REQUEST)).toBeNull();
  });

  it('writes nothing with a lease that was lost', () => {
    const work = open(3);
    const lost = claim(work, 1);
    const next = claim(work, 61, 'w2');
    expect(store(work, lost, 62)).toEqual({ isHeld: false, outcomes: [] });
    expect(work.at(62).heartbeat({ token: lost.token, leaseSeconds: 60 })).toBe(false);
    expect(work.at(62).endLease({ token: lost.token, outcome: { kind: 'failed', reason: 'x' } })).toBe(false);
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
    expect(work.at(50).heartbeat({ token: lease.token, leaseSeconds: 60 })).toBe(true);
    expect(work.at(100).claimChunk({ ...REQUEST, owner: 'w2' })).toBeNull();
    expect(store(work, lease, 100)).toMatchObject({ outcomes: { length: 3 } });
  });

  it('fails a chunk whose lease expires at its last attempt, and takes it again after `reopen`', () => {
    const work = open(3);
    claim(work, 1);
    claim(work, 100);
    expect(work.at(200).sweepLeases()).toBe(1);
    expect(work.at(201).claimChunk(REQUEST)).toBeNull();
    expect(task(work)).toMatchObject({
      status: 'failed',
      worker_status: 'failed',
      failure_reason: 'lease_expired',
    });
    expect(work.at(202).reopenChunks(null)).toBe(1);
    expect(task(work)).toMatchObject({ status: 'pending', worker_status: 'idle', failure_reason: null });
    expect(claim(work, 203).attempt).toBe(1);
  });

  it('does not count the attempt of a lease that expired after the end of its process', () => {
    const work = open(3);
    let ids = 0;
    const createId = (): string => `lease ${(ids += 1)}`;
    for (const process of [1, 2, 3, 4]) {
      expect(
        workIn(work, createId)
          .at(process * 100)
          .claimChunk(REQUEST),
      ).toMatchObject({ attempt: 1 });
    }
  });

  it('does not fail a task because one of its chunks failed', () => {
    const work = open(250);
    const first = claim(work, 1);
    const second = claim(work, 1);
    work.at(2).endLease({ token: second.token, outcome: { kind: 'failed', reason: 'refused' } });
    store(work, first, 2);
    work.at(2).endLease({ token: first.token, outcome: { kind: 'done' } });
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
    work.at(2).storeResults({
      token: lease.token,
      results: first === undefined ? [] : [first],
      provenance: NO_PROVENANCE,
    });
    work.at(2).endLease({ token: lease.token, outcome: { kind: 'failed', reason: 'refused' } });
    expect(task(work)).toMatchObject({
      status: 'in_progress',
      worker_status: 'failed',
      failure_reason: 'refused',
    });
    const run = { taskId: null, maxTasks: 10, stepUnits: 20 };
    expect(work.openUnits(run).units).toBe(0);
    expect(work.at(3).reopenChunks(null)).toBe(1);
    expect(work.openUnits(run).units).toBe(2);
  });

  it('opens a task again that someone called failed', () => {
    const work = open(3);
    work.database.prepare(`UPDATE task SET stored_status = 'failed', failure_reason = 'no budget'`).run();
    expect(work.at(1).claimChunk(REQUEST)).toBeNull();
    expect(work.at(2).reopenChunks(null)).toBe(0);
    expect(task(work)).toMatchObject({ status: 'pending', failure_reason: null });
    expect(claim(work, 3).units).toHaveLength(3);
  });

  it('waits before the next attempt, and begins again after progress', () => {
    const work = open(3);
    const lease = claim(work, 1);
    work.at(2).endLease({
      token: lease.token,
      outcome: { kind: 'retry', reason: 'http 500', nextAttemptAt: 31, isCounted: true },
    });
    expect(task(work)).toMatchObject({
      worker_status: 'retry_wait',
      next_attempt_at: 31,
      failure_reason: 'http 500',
    });
    expect(work.at(30).claimChunk(REQUEST)).toBeNull();
    const again = claim(work, 31);
    expect(again.attempt).toBe(2);
    const some = { ...again, units: again.units.slice(0, 1) };
    expect(store(work, some, 32)).toMatchObject({ outcomes: ['draft'] });
    work.at(32).endLease({
      token: again.token,
      outcome: { kind: 'retry', reason: 'http 500', nextAttemptAt: 33, isCounted: true },
    });
    expect(claim(work, 33)).toMatchObject({ attempt: 2, units: [{ revision: 0 }, { revision: 0 }] });
  });

  it('gives the attempt of a cancelled run back', () => {
    const work = open(3);
    for (let run = 0; run < 5; run += 1) {
      const lease = claim(work, 1);
      expect(lease.attempt).toBe(1);
      work.at(1).endLease({ token: lease.token, outcome: { kind: 'cancelled' } });
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
    expect(
      work.at(2).storeResults({ token: first.token, results: foreign, provenance: NO_PROVENANCE }),
    ).toMatchObject({
      outcomes: ['skipped'],
    });
    const [result] = resultsOf(
      first,
      () => 'T',
      () => 'text 0',
    );
    const wrong = { ...result!, target: { ...result!.target, sourceDigest: new Uint8Array(32) } };
    expect(
      work.at(2).storeResults({ token: first.token, results: [wrong], provenance: NO_PROVENANCE }),
    ).toMatchObject({
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
    expect(
      work.at(2).storeResults({ token: lease.token, results: [one!, two!], provenance: NO_PROVENANCE })
        .outcomes,
    ).toEqual(['blocked', 'draft']);
    expect(task(work)).toMatchObject({ blocked: 1, draft: 1, provider: 'fixture', provider_run_id: 'run-1' });
  });

  it('stays free when it is done and a person held a unit meanwhile', () => {
    const work = open(2);
    const hold = work.database.prepare(`INSERT INTO hold VALUES (?, 'zh-Hans', NULL, NULL, 1)`);
    const lease = claim(work, 1);
    hold.run(lease.units[0]!.unitId);
    expect(store(work, lease, 2).outcomes).toEqual(['skipped', 'draft']);
    work.at(3).endLease({ token: lease.token, outcome: { kind: 'done' } });
    work.database.prepare('DELETE FROM hold').run();
    expect(claim(work, 4).units).toHaveLength(1);
  });

  it('shows the next chunk without leasing it, and finds one by its place or below a task', () => {
    const work = open();
    const second = { taskSeq: 1, number: 1 };
    expect(work.at(1).peekChunk(REQUEST)).toMatchObject({ number: 0, units: { length: 200 } });
    expect(work.at(1).peekChunk({ ...REQUEST, place: second })).toMatchObject(second);
    expect(work.at(1).peekChunk({ ...REQUEST, untilTask: 0 })).toBeNull();
    expect(work.at(1).claimChunk({ ...REQUEST, place: second })).toMatchObject(second);
    expect(work.at(1).claimChunk({ ...REQUEST, place: second })).toBeNull();
    expect(task(work)).toMatchObject({ attempt: 1, worker_status: 'leased' });
  });

  it('takes back what an earlier process of the same owner left behind, and nothing else', () => {
    const work = open();
    claim(work, 1);
    claim(work, 1, 'w2');
    expect(work.at(2).takeBack('w1')).toBe(0);
    const reopened = workIn(work, () => 'id999999');
    expect(reopened.at(2).takeBack('w1')).toBe(1);
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
            const next = work.at(now).claimChunk({ ...REQUEST, owner: `w${worker}` });
            if (next !== null) held.set(worker, { ...next, until: now + 60 });
          } else if (lease !== undefined) {
            const isLive = now < lease.until;
            if (kind === 'store') {
              const done = store(work, { ...lease, units: lease.units.slice(0, 3) }, now);
              if (done.isHeld) expect(isLive).toBe(true);
              stored += done.outcomes.filter((outcome) => outcome !== 'skipped').length;
            } else if (kind === 'beat') {
              const beat = work.at(now).heartbeat({ token: lease.token, leaseSeconds: 60 });
              if (beat) held.set(worker, { ...lease, until: now + 60 });
              if (beat) expect(isLive).toBe(true);
            } else {
              const done = work.at(now).endLease({
                token: lease.token,
                outcome: { kind: end, reason: 'x', nextAttemptAt: now + 5, isCounted: true },
              });
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
