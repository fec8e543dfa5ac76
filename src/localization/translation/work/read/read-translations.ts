import { stringifyJsonExact } from '../../../../contract/json/json-exact.ts';
import { cutText } from '../../../../domain/text/cut-text.ts';
import { unitIdBytes, unitIdText } from '../../../unit-id-text.ts';
import type {
  FoundTranslations,
  TranslationsRequest,
  UnitTranslation,
} from '../../../parse/index/read/unit-translations.ts';
import { createUnitDecisions, type UnitDecisions } from './read-decisions.ts';
import { createHistoryReader } from './read-history.ts';
import { CHUNK_UNITS } from '../store/task-counts.ts';
import { sameBytes, type Row, type StoredTarget } from '../store/target-rows.ts';
import type { WorkTools } from '../store/work-tools.ts';

/** UTF-16 code units of a text in a report, as for source texts. */
const MAX_TEXT = 256 * 1024;

/** Creates the reader of the translations of the units of a page. A unit id that is not one has no translation. */
export function createTranslationReader({
  database,
  targetLanguage,
  targets,
  now,
}: WorkTools): (request: TranslationsRequest) => FoundTranslations {
  const build = database.prepare(`SELECT build_id FROM build
    WHERE target_language = ? AND state = 'current' AND release_id = ? AND generation = ?`);
  const place = database.prepare(`SELECT task_id, tier, chunk.lease_owner, chunk.lease_expires_at
    FROM task_unit JOIN task USING (task_seq) LEFT JOIN chunk ON chunk.task_seq = task_unit.task_seq
    AND chunk.number = task_unit.number / ${CHUNK_UNITS} AND chunk.state = 'leased' AND chunk.lease_expires_at > :now
    WHERE unit_id = :unit_id AND build_id = :build_id`);
  const decisions = createUnitDecisions(database, targetLanguage);
  const readHistory = createHistoryReader(database, targetLanguage);
  return ({ releaseId, generation, units, withHistory, maxBytes }) => {
    const found = build.get(targetLanguage, releaseId, generation);
    const buildId = found === undefined ? null : Number(found['build_id']);
    const items: UnitTranslation[] = [];
    let bytes = 0;
    for (const { unitId: text, sourceDigest } of units) {
      const unitId = unitIdBytes(text) ?? new Uint8Array();
      const item = translationOf({
        unitId,
        place: buildId === null ? undefined : place.get({ unit_id: unitId, build_id: buildId, now: now() }),
        target: targets.get(unitId),
        sourceDigest: Buffer.from(sourceDigest, 'hex'),
        decisions: decisions(unitId, now()),
      });
      bytes += Buffer.byteLength(stringifyJsonExact(item));
      if (items.length > 0 && bytes > maxBytes) break;
      items.push(item);
    }
    const first = withHistory ? unitIdBytes(units[0]?.unitId ?? '') : null;
    return {
      targetLanguage,
      isBuilt: buildId !== null,
      items,
      history: first === null ? null : readHistory(first),
    };
  };
}

interface UnitFacts {
  readonly unitId: Uint8Array;
  readonly place: Row | undefined;
  readonly target: StoredTarget | null;
  /** Of the text that the page shows. */
  readonly sourceDigest: Uint8Array;
  readonly decisions: UnitDecisions;
}

function translationOf({ place, target, sourceDigest, decisions }: UnitFacts): UnitTranslation {
  const leaseOwner = place?.['lease_owner'] ?? null;
  const { hold, claim } = decisions;
  return {
    task_id: (place?.['task_id'] ?? null) as string | null,
    carried_by: (place?.['tier'] ?? null) as UnitTranslation['carried_by'],
    ...textFields(target, sourceDigest),
    ...(target === null ? NO_TARGET : targetFields(target, decisions)),
    hold,
    claim,
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

type TextFields = Pick<
  UnitTranslation,
  'state' | 'target_text' | 'previous_source' | 'previous_target' | 'is_cut'
>;

/** A target for another text is stale, also before the tasks of the release are built. */
function textFields(target: StoredTarget | null, sourceDigest: Uint8Array): TextFields {
  const none = { target_text: null, previous_source: null, previous_target: null, is_cut: false };
  if (target === null) return { state: 'untranslated', ...none };
  const text = cutText(target.text, MAX_TEXT);
  const isStale = target.state === 'stale' || !sameBytes(target.sourceDigest, sourceDigest);
  if (!isStale) return { ...none, state: target.state, target_text: text.text, is_cut: text.isCut };
  const source = cutText(target.sourceText, MAX_TEXT);
  return {
    state: 'stale',
    target_text: null,
    previous_source: source.text,
    previous_target: text.text,
    is_cut: text.isCut || source.isCut,
  };
}

function targetFields(target: StoredTarget, decisions: UnitDecisions) {
  const { authorKind, tokenId, provider, providerRunId, propagatedFrom } = target;
  return {
    revision: target.revision,
    author: { kind: authorKind, token_id: tokenId, provider, provider_run_id: providerRunId },
    findings: [...target.findings],
    qa_identity: target.qaIdentity,
    glossary_override: decisions.overrideOf(target),
    waivers: decisions.waiversOf(target),
    returned: decisions.returnOf(target),
    propagated_from: propagatedFrom === null ? null : unitIdText(propagatedFrom),
    updated_at: target.updatedAt,
  };
}
