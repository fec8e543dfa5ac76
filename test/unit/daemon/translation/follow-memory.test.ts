import { describe, expect, it } from 'vitest';
import type { MemoryRecord } from '../../../../src/domain/memory/memory-record.ts';
import { followMemory } from '../../../../src/daemon/translation/requalify/follow-memory.ts';
import { blake3OfText } from '../../../../src/platform/hashing/text-blake3.ts';
import { unitIdOf } from '../../../support/index-release.ts';
import { blockingFinding, openTranslatedTexts } from '../../../support/translated-texts.ts';

const FILE = 'a.json';

type Record = Pick<MemoryRecord, 'record_id' | 'state' | 'source_text' | 'target_text' | 'superseded_by'>;

/** A memory in which the wording 老师 of 先生 has lost against 师傅. */
function records(changes: Partial<Record> = {}): readonly Record[] {
  const shared = { source_text: '先生', superseded_by: null };
  return [
    { ...shared, record_id: 'tm_old', state: 'superseded', target_text: '老师', superseded_by: 'tm_new' },
    { ...shared, record_id: 'tm_new', state: 'trusted', target_text: '师傅', ...changes },
  ];
}

/** Targets of the memory, one for each key; the key says its state. */
async function open(texts: { readonly [key: string]: string }) {
  const world = await openTranslatedTexts();
  world.build('r1', { [FILE]: Object.fromEntries(Object.keys(texts).map((key) => [key, '先生'])) });
  const digest = Buffer.from(blake3OfText('先生')).toString('hex');
  for (const [key, text] of Object.entries(texts)) {
    world.type(FILE, key, text);
    const id = unitIdOf(FILE, key).toString('hex');
    world.run(`UPDATE target SET author_kind = 'memory', state = '${key.split(' ')[0]}', source_digest = x'${digest}'
      WHERE unit_id = x'${id}'`);
  }
  return {
    ...world,
    follow: async (changes: Partial<Record> = {}) => {
      const found = new Map(records(changes).map((each) => [each.record_id, each as MemoryRecord]));
      return await followMemory(
        { thread: world.thread, memory: { record: (id) => Promise.resolve(found.get(id) ?? null) } },
        ['tm_old', 'tm_unknown', 'tm_new'],
        new AbortController().signal,
      );
    },
    shown: (key: string) => {
      const target = world.target(FILE, key);
      const found = JSON.parse(target?.findings ?? '[]') as { check: string; message: string }[];
      return [target?.target_text, target?.state, found.map(({ message }) => message)];
    },
  };
}

describe('a wording that another record has replaced', () => {
  it('is marked where the memory gave it and nobody has reviewed it', async () => {
    const world = await open({
      draft: '老师',
      translated: '老师',
      proofread: '老师',
      blocked: '老师',
      'draft other': '先生',
    });
    const message = 'the Translation Memory has "师傅" for this text now';
    expect(await world.follow()).toBe(3);
    expect(world.shown('draft')).toEqual(['老师', 'draft', [message]]);
    expect(world.shown('translated')).toEqual(['老师', 'draft', [message]]);
    expect(world.shown('blocked')).toEqual(['老师', 'blocked', [message]]);
    expect(world.shown('proofread')).toEqual(['老师', 'proofread', []]);
    expect(world.shown('draft other')).toEqual(['先生', 'draft', []]);
    const reasons = world.rows('SELECT reason FROM target_history WHERE reason IS NOT NULL');
    expect(reasons).toHaveLength(3);
    expect(reasons[0]).toEqual({ reason: 'the Translation Memory replaced tm_old by tm_new' });
    expect(await world.follow()).toBe(0);
    expect(await world.follow({ target_text: '导师' })).toBe(3);
    expect(world.shown('draft')[2]).toEqual(['the Translation Memory has "导师" for this text now']);
  });

  it('stays with people, and while the other record says the same or is not trusted', async () => {
    const world = await open({ draft: '老师' });
    expect(await world.follow({ target_text: '老师' })).toBe(0);
    expect(await world.follow({ state: 'superseded' })).toBe(0);
    world.run(`UPDATE target SET author_kind = 'person'`);
    expect(await world.follow()).toBe(0);
  });

  it('is marked in each part of many targets', async () => {
    const keys = Array.from({ length: 450 }, (_, at) => `draft ${at}`);
    const world = await open(Object.fromEntries(keys.map((key) => [key, '老师'])));
    expect(await world.follow()).toBe(450);
  });

  it('keeps its mark when the target is judged again', async () => {
    const world = await open({ draft: '老师' });
    await world.follow();
    const [task] = world.rows('SELECT task_seq, build_id FROM task');
    const { generation } = world.index.status();
    const revision = world.target(FILE, 'draft')?.revision ?? 0;
    world.calls.storeRequalified({
      builtFor: { releaseId: 'r1', generation },
      taskSeq: Number(task?.['task_seq']),
      wasProofread: false,
      resets: 0,
      upTo: null,
      by: { key: 'k', generation: 1 },
      items: [
        {
          unitId: unitIdOf(FILE, 'draft'),
          revision,
          findings: [{ ...blockingFinding('numbers'), severity: 'warning' }],
          qaIdentity: 'gqa1_x',
        },
      ],
    });
    expect(world.shown('draft')[2]).toEqual([
      'found numbers',
      'the Translation Memory has "师傅" for this text now',
    ]);
  });
});
