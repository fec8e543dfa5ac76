import { stringifyJsonExact } from '../../../../contract/json/json-exact.ts';
import { cutText } from '../../../../domain/text/cut-text.ts';
import { unitIdBytes, unitIdText } from '../../../unit-id-text.ts';
import type {
  FoundTranslations,
  TranslationsRequest,
  UnitTranslation,
} from '../../../parse/index/read/unit-translations.ts';
import { holdOn, overrideOf, returnOf, waiversOf } from './read-decisions.ts';
import { readHistory } from './read-history.ts';
import { CHUNK_UNITS } from '../store/task-counts.ts';
import { currentBuild } from '../store/builds.ts';
import { sameBytes, type StoredTarget } from '../store/target-rows.ts';
import { getTarget } from '../store/target-store.ts';
import { claimOn } from '../store/withheld-units.ts';
import type { Work } from '../store/work.ts';

/** UTF-16 code units of a text in a report, as for source texts. */
const MAX_TEXT = 256 * 1024;

const PLACE = `SELECT task_id, tier, chunk.lease_owner, chunk.lease_expires_at
  FROM task_unit JOIN task USING (task_seq) LEFT JOIN chunk ON chunk.task_seq = task_unit.task_seq
  AND chunk.number = task_unit.number / ${CHUNK_UNITS} AND chunk.state = 'leased' AND chunk.lease_expires_at > :now
  WHERE unit_id = :unit_id AND build_id = :build_id`;

/** Reads the translations of the units of a page. A unit id that is not one has no translation. */
export function translations(work: Work, request: TranslationsRequest): FoundTranslations {
  const { units, withHistory, maxBytes } = request;
  const buildId = currentBuild(work, request);
  const items: UnitTranslation[] = [];
  let bytes = 0;
  for (const { unitId: text, sourceDigest } of units) {
    const unitId = unitIdBytes(text) ?? new Uint8Array();
    const item = translationOf(work, buildId, unitId, Buffer.from(sourceDigest, 'hex'));
    bytes += Buffer.byteLength(stringifyJsonExact(item));
    if (items.length > 0 && bytes > maxBytes) break;
    items.push(item);
  }
  const first = withHistory ? unitIdBytes(units[0]?.unitId ?? '') : null;
  return {
    targetLanguage: work.targetLanguage,
    isBuilt: buildId !== null,
    items,
    history: first === null ? null : readHistory(work, first),
  };
}

/** @param sourceDigest of the text that the page shows */
function translationOf(
  work: Work,
  buildId: number | null,
  unitId: Uint8Array,
  sourceDigest: Uint8Array,
): UnitTranslation {
  const place =
    buildId === null
      ? undefined
      : work.sql(PLACE).get({ unit_id: unitId, build_id: buildId, now: work.now() });
  const target = getTarget(work, unitId);
  const leaseOwner = place?.['lease_owner'] ?? null;
  return {
    task_id: (place?.['task_id'] ?? null) as string | null,
    carried_by: (place?.['tier'] ?? null) as UnitTranslation['carried_by'],
    ...textFields(target, sourceDigest),
    ...(target === null ? NO_TARGET : targetFields(work, target)),
    hold: holdOn(work, unitId),
    claim: claimOn(work, unitId) ?? null,
    lease:
      typeof leaseOwner === 'string'
        ? { owner: leaseOwner, expires_at: Number(place?.['lease_expires_at']) }
        : null,
  };
}

const NO_TARGET = {
  revision: 0,
  author: null,
  findings: [],
  qa_identity: null,
  glossary_override: null,
  waivers: [],
  returned: null,
  propagated_from: null,
  updated_at: null,
};

/** A target for another text is stale, also before the tasks of the release are built. */
function textFields(target: StoredTarget | null, sourceDigest: Uint8Array) {
  const none = { target_text: null, previous_source: null, previous_target: null, is_cut: false };
  if (target === null) return { state: 'untranslated' as const, ...none };
  const text = cutText(target.text, MAX_TEXT);
  const isStale = target.state === 'stale' || !sameBytes(target.sourceDigest, sourceDigest);
  if (!isStale) return { ...none, state: target.state, target_text: text.text, is_cut: text.isCut };
  const source = cutText(target.sourceText, MAX_TEXT);
  return {
    state: 'stale' as const,
    target_text: null,
    previous_source: source.text,
    previous_target: text.text,
    is_cut: text.isCut || source.isCut,
  };
}

function targetFields(work: Work, target: StoredTarget) {
  const { authorKind, tokenId, provider, providerRunId, propagatedFrom } = target;
  return {
    revision: target.revision,
    author: { kind: authorKind, token_id: tokenId, provider, provider_run_id: providerRunId },
    findings: [...target.findings],
    qa_identity: target.qaIdentity,
    glossary_override: overrideOf(work, target),
    waivers: waiversOf(work, target),
    returned: returnOf(work, target),
    propagated_from: propagatedFrom === null ? null : unitIdText(propagatedFrom),
    updated_at: target.updatedAt,
  };
}
