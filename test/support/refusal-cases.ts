import type { TRANSLATION_ACTIONS } from '../../src/contract/actions/actions-translation.ts';
import { FIXTURE_FILE, OUTSIDE_LINK, termFields, type RefusalPlace } from './refusal-place.ts';

type TranslationAction = keyof typeof TRANSLATION_ACTIONS;
/** Brings the place into a state. @returns the body that is refused in it */
type Prepare = (place: RefusalPlace) => object | Promise<object>;
/** The codes of the contract, and `accepted`; a code without a case does not compile. */
type CasesOf<A extends TranslationAction> = Readonly<
  Record<(typeof TRANSLATION_ACTIONS)[A]['errors'][number] | 'accepted', Prepare>
>;

const REVIEWED = { reviewer: 'Rin', reason: 'agreed' };
const STALE_OVERRIDE = {
  qa_identity: 'gqa1_old',
  reviewer: 'Rin',
  reason: 'a name',
  provenance: 'call',
  confirmed_unix_seconds: 1,
};
const APPROVED = { review_status: 'approved', reviewer: 'Rin' };
const OTHER = { category: 'other', recommended_translation: '别的' };

/** For each action of translation and each of its errors, how it comes about; `accepted` for its success. */
export const REFUSAL_CASES: { readonly [A in TranslationAction]: CasesOf<A> } = {
  'translation-task-update': {
    accepted: (at) => ({ task_id: at.taskId, translation_results: [at.result(0)] }),
    unknown_translation_task: () => ({ task_id: 'tt_unknown', status: 'pending' }),
    source_mismatch: (at) => ({
      task_id: at.taskId,
      translation_results: [at.result(0, '早', 'another text')],
    }),
    lease_held: async (at) => {
      await at.update(claim(at, 0));
      return { task_id: at.taskId, worker_id: 'cho', translation_results: [at.result(0)] };
    },
    revision_changed: (at) => ({
      task_id: at.taskId,
      translation_results: [at.result(0)],
      args: [`expect=${at.id(0)}:4`],
    }),
    override_stale: (at) => ({
      task_id: at.taskId,
      translation_results: [at.result(0)],
      glossary_override: STALE_OVERRIDE,
    }),
    qa_blocked: (at) => ({
      task_id: at.taskId,
      status: 'translated',
      translation_results: [at.result(0, 'no placeholder'), at.result(1), at.result(2)],
    }),
    units_missing: (at) => ({
      task_id: at.taskId,
      status: 'translated',
      translation_results: [at.result(0)],
    }),
    invalid_transition: async (at) => {
      await at.update({ status: 'skipped', reason: 'no text' });
      return {
        task_id: at.taskId,
        status: 'translated',
        translation_results: [0, 1, 2].map((unit) => at.result(unit)),
      };
    },
  },
  'translation-worker-run': {
    accepted: (at) => ({ provider: 'fixture', fixture_path: FIXTURE_FILE, task_id: at.taskId }),
    provider_not_configured: () => ({ provider: 'nobody' }),
    file_not_found: () => ({ provider: 'fixture', fixture_path: 'none.jsonl' }),
    unknown_translation_task: () => ({ provider: 'memory-only', task_id: 'tt_unknown' }),
    invalid_path: () => ({ provider: 'fixture', fixture_path: OUTSIDE_LINK }),
  },
  'translation-proofread': {
    accepted: async (at) => {
      await at.translate();
      return accept(at);
    },
    unknown_translation_task: (at) => ({ ...accept(at), task_id: 'tt_unknown' }),
    file_not_found: () => ({ translation_file: 'none.csv', reviewer: 'Rin' }),
    source_mismatch: async (at) => {
      await at.translate();
      return { ...accept(at), translation_results: [at.result(0, '早{0}', 'another text')] };
    },
    lease_held: async (at) => {
      await at.translate();
      await at.update(claim(at, 1));
      return { ...accept(at), translation_results: [at.result(0)] };
    },
    revision_changed: async (at) => {
      await at.translate();
      return { ...accept(at), translation_results: [at.result(0)], args: [`expect=${at.id(0)}:4`] };
    },
    override_stale: async (at) => {
      await at.translate();
      return { ...accept(at), translation_results: [at.result(0)], glossary_override: STALE_OVERRIDE };
    },
    four_eyes_required: async (at) => {
      const translation_results = [0, 1, 2].map((unit) => at.result(unit));
      const body = { task_id: at.taskId, status: 'translated', translation_results };
      await at.actMyself('translation-task-update', body);
      return accept(at);
    },
    invalid_transition: accept,
    qa_blocked: async (at) => {
      await at.translate();
      return { ...accept(at), translation_results: [at.result(0, 'no placeholder')] };
    },
    provider_not_configured: () => ({ provider: 'nobody' }),
    invalid_path: () => ({ translation_file: OUTSIDE_LINK, reviewer: 'Rin' }),
  },
  'translation-memory-confirm': {
    accepted: confirmable,
    unknown_record: () => ({ record_id: 'tm_unknown', reviewer: 'Rin' }),
    trusted_conflict: async (at) => {
      await at.translate();
      const record_id = await at.record();
      await at.translate('师傅');
      await at.act('translation-memory-confirm', { record_id, ...REVIEWED });
      return { record_id: await at.record('师傅'), ...REVIEWED };
    },
    invalid_transition: async (at) => {
      await at.translate();
      const record_id = await at.record();
      const rejected = { status: 'pending', translation_results: [at.result(2)] };
      await at.act('translation-proofread', { task_id: at.taskId, ...REVIEWED, ...rejected });
      return { record_id, reviewer: 'Rin' };
    },
    qa_blocked: async (at) => {
      const waived = { ...REVIEWED, args: [`waive=${at.id(1)}:tag_mismatch`] };
      // What comes in a file is a candidate at once.
      await at.update({ translation_results: [at.result(1, '再见')], provider: 'file', ...waived });
      return { record_id: await at.record('再见', 1), reviewer: 'Rin' };
    },
    invalid_path: async (at) => ({ ...(await confirmable(at)), translation_memory_path: OUTSIDE_LINK }),
    file_not_found: async (at) => ({ ...(await confirmable(at)), translation_memory_path: 'none.db' }),
  },
  'translation-memory-resolve-conflict': {
    accepted: conflict,
    unknown_record: async (at) => {
      const body = await conflict(at);
      return { ...body, expected_trusted_record_ids: [body.winner_record_id, 'tm_unknown'] };
    },
    conflict_group_changed: async (at) => {
      const body = await conflict(at);
      await at.act('translation-memory-resolve-conflict', body);
      await at.translate('导师');
      const record_id = await at.record('导师');
      return {
        ...body,
        winner_record_id: record_id,
        expected_trusted_record_ids: [body.winner_record_id, record_id],
      };
    },
    invalid_path: async (at) => ({ ...(await conflict(at)), translation_memory_path: OUTSIDE_LINK }),
    file_not_found: async (at) => ({ ...(await conflict(at)), translation_memory_path: 'none.db' }),
  },
  'translation-glossary-add': {
    accepted: ({ topic }) => termFields(topic),
    term_exists: async (at) => {
      await at.term();
      return termFields(at.topic);
    },
    term_conflict: async (at) => {
      await at.term(APPROVED);
      return { ...termFields(at.topic), ...OTHER, ...APPROVED };
    },
    invalid_path: ({ topic }) => ({ ...termFields(topic), glossary_path: OUTSIDE_LINK }),
    file_not_found: ({ topic }) => ({ ...termFields(topic), glossary_path: 'none.db' }),
  },
  'translation-glossary-update': {
    accepted: async (at) => ({ term_id: await at.term(), category: 'names' }),
    unknown_term: () => ({ term_id: 'gt_unknown', category: 'names' }),
    term_exists: async (at) => {
      await at.term();
      return { term_id: await at.term({ category: 'names' }), category: '' };
    },
    term_conflict: async (at) => {
      await at.term(APPROVED);
      const term_id = await at.term({ ...OTHER, ...APPROVED, priority: 7 });
      return { term_id, priority: 0, ...REVIEWED };
    },
    invalid_transition: async (at) => ({
      term_id: await at.term(APPROVED),
      review_status: 'rejected',
      ...REVIEWED,
    }),
    invalid_path: async (at) => ({
      term_id: await at.term(),
      category: 'names',
      glossary_path: OUTSIDE_LINK,
    }),
    file_not_found: async (at) => ({ term_id: await at.term(), category: 'names', glossary_path: 'none.db' }),
  },
  'translation-glossary-approve': {
    accepted: async (at) => ({ term_id: await at.term(), reviewer: 'Rin' }),
    unknown_term: () => ({ term_id: 'gt_unknown', reviewer: 'Rin' }),
    term_conflict: async (at) => {
      await at.term(APPROVED);
      return { term_id: await at.term(OTHER), reviewer: 'Rin' };
    },
    invalid_transition: async (at) => ({ term_id: await at.term(APPROVED), reviewer: 'Rin' }),
    invalid_path: async (at) => ({ term_id: await at.term(), reviewer: 'Rin', glossary_path: OUTSIDE_LINK }),
    file_not_found: async (at) => ({ term_id: await at.term(), reviewer: 'Rin', glossary_path: 'none.db' }),
  },
  'translation-glossary-deprecate': {
    accepted: async (at) => ({ term_id: await at.term(APPROVED), ...REVIEWED }),
    unknown_term: () => ({ term_id: 'gt_unknown', ...REVIEWED }),
    invalid_transition: async (at) => ({ term_id: await at.term(), ...REVIEWED }),
    invalid_path: async (at) => ({ term_id: await at.term(), ...REVIEWED, glossary_path: OUTSIDE_LINK }),
    file_not_found: async (at) => ({ term_id: await at.term(), ...REVIEWED, glossary_path: 'none.db' }),
  },
  'translation-glossary-delete': {
    accepted: async (at) => ({ term_id: await at.term() }),
    unknown_term: () => ({ term_id: 'gt_unknown' }),
    term_approved: async (at) => ({ term_id: await at.term(APPROVED) }),
    invalid_path: async (at) => ({ term_id: await at.term(), glossary_path: OUTSIDE_LINK }),
    file_not_found: async (at) => ({ term_id: await at.term(), glossary_path: 'none.db' }),
  },
};

function accept({ taskId }: RefusalPlace): object {
  return { task_id: taskId, status: 'proofread', reviewer: 'Rin' };
}

/** Claims the first unit. @param revision of the unit */
function claim(at: RefusalPlace, revision: number): object {
  const args = [`expect=${at.id(0)}:${revision}`];
  return { status: 'in_progress', worker_id: 'ben', lease_seconds: 3600, args };
}

async function confirmable(at: RefusalPlace): Promise<object> {
  await at.translate();
  return { record_id: await at.record(), reviewer: 'Rin' };
}

/** Makes two trusted records of the same text. @returns the body that keeps the first */
async function conflict(at: RefusalPlace) {
  await at.translate();
  const winner_record_id = await at.record();
  await at.translate('师傅');
  const other = await at.record('师傅');
  for (const record_id of [winner_record_id, other]) {
    await at.act('translation-memory-confirm', { record_id, ...REVIEWED, force: true });
  }
  return { winner_record_id, expected_trusted_record_ids: [winner_record_id, other], ...REVIEWED };
}
