import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { ChipText, type MarkedSpan } from '../../../components/chip-text.tsx';
import { DiffText } from '../../../components/diff-text.tsx';
import { useApp } from '../../../state/app.ts';
import { counted } from '../../../text/format.ts';
import { invisibleTokens } from '../../../text/text-tokens.ts';
import { ConflictView } from '../draft/conflict-view.tsx';
import { personOf, sessionOf } from '../draft/editor-session.ts';
import { SaveState } from '../draft/save-state.tsx';
import { keyOf, lookOf, spansOf, returnOf, stateOf, type Unit, toneOf } from '../unit.ts';
import type { FoundUnit } from '../list/unit-scan.tsx';
import { GameBox } from './game-box.tsx';
import { isAboutTarget } from './glossary-hits.tsx';
import { LeaseNote } from './lease-note.tsx';
import { ScriptLines } from './script-lines.tsx';
import { TargetField, fieldOffset, sizeOf, toField } from './target-field.tsx';
import type { UnitWork } from './use-unit-work.ts';

/** One unit: where it is, its source, its target and what is wrong between them. */
export function UnitPane({
  work,
  index,
  script,
  moves,
  onSelect,
  children,
}: {
  readonly work: UnitWork;
  readonly index: number;
  /** The lines around the unit, in their order. */
  readonly script: readonly FoundUnit[];
  readonly moves: JSX.Element;
  readonly onSelect: (index: number) => void;
  readonly children: JSX.Element;
}): JSX.Element {
  const app = useApp();
  const { unit, detail, draft } = work;
  const { translation } = unit;
  const sourceLanguage = detail?.sourceLanguage ?? undefined;
  return (
    <>
      <UnitHead unit={unit} index={index}>
        {moves}
      </UnitHead>
      <Returned review={returnOf(unit, draft)} />
      {translation === null ? null : <LeaseNote translation={translation} person={personOf(app)} />}
      <ScriptLines
        lines={script.filter((line) => line.index < index)}
        label="Lines before"
        onOpen={onSelect}
      />
      <div class="unit-texts-pair">
        <div class="text-block">
          <h3>Source</h3>
          <p class="source-text">
            <ChipText
              text={unit.source_text}
              placeholders={unit.placeholders}
              spans={sourceSpans(work)}
              lang={sourceLanguage}
            />
          </p>
          <PreviousTexts unit={unit} lang={sourceLanguage} />
        </div>
        <div class="text-block">
          <h3>
            <label for="target">Target</label>
          </h3>
          <Obstacle work={work} />
          {draft?.phase.kind === 'conflict' ? (
            <ConflictView
              draft={draft}
              conflict={draft.phase.conflict}
              onChoose={(choice) => sessionOf(app).desk.choose(unit.unit_id, choice)}
            />
          ) : null}
          <TargetField
            field={work.field}
            text={toField(work.text)}
            source={toField(unit.source_text)}
            placeholders={unit.placeholders}
            spans={targetSpans(work)}
            lang={detail?.targetLanguage ?? undefined}
            isDisabled={!work.mayEdit}
            describedBy="target-facts"
            onInput={work.type}
          />
          <TargetFacts work={work} />
          {children}
          <SaveState draft={draft} state={stateOf(unit, draft)} />
        </div>
      </div>
      <ScriptLines
        lines={script.filter((line) => line.index > index)}
        label="Lines after"
        onOpen={onSelect}
      />
    </>
  );
}

function Obstacle({ work: { obstacle } }: { work: UnitWork }) {
  const app = useApp();
  if (obstacle !== null) return <p class="note info">{obstacle}</p>;
  if (app.index() === null || app.mayRun('translation-task-update')) return null;
  return <p class="note info">Your token may not change translations. It needs the scope translate.</p>;
}

function Returned({ review }: { review: ReturnType<typeof returnOf> }) {
  if (review === null) return null;
  return (
    <p class="note warn">
      Returned by <bdi>{review.reviewer ?? 'a reviewer'}</bdi>
      {review.reason === null ? '.' : ': '}
      {review.reason === null ? null : <bdi>{review.reason}</bdi>}
    </p>
  );
}

function UnitHead({ unit, index, children }: { unit: Unit; index: number; children: JSX.Element }) {
  const { speaker, scene, field_path: field, translation } = unit;
  const look = lookOf(translation?.state ?? 'unknown');
  return (
    <div class="unit-head">
      <h2>{`Unit ${index + 1}`}</h2>
      <span class={`badge ${look.tone}`}>
        <span aria-hidden="true">{look.sign} </span>
        {look.word}
      </span>
      {speaker === null ? null : (
        <span>
          <span class="muted">Speaker </span>
          <bdi>{speaker}</bdi>
        </span>
      )}
      {scene === null ? null : (
        <span>
          <span class="muted">Scene </span>
          <bdi>{scene}</bdi>
        </span>
      )}
      {(translation?.propagated_from ?? null) === null ? null : (
        <span class="muted">Copied from a unit with the same text</span>
      )}
      <code class="unit-key muted" title={field ?? ''}>
        {keyOf(unit)}
      </code>
      {children}
    </div>
  );
}

function PreviousTexts({
  unit: { source_text: source, translation },
  lang,
}: {
  readonly unit: Unit;
  readonly lang: string | undefined;
}) {
  const previous = translation?.previous_source ?? null;
  if (translation === null || previous === null) return null;
  return (
    <div class="previous">
      <h3>The source has changed</h3>
      <p>
        <DiffText before={previous} after={source} lang={lang} />
      </p>
      {translation.previous_target === null ? null : (
        <p>
          <span class="muted">Target then: </span>
          <ChipText text={translation.previous_target} source={previous} />
        </p>
      )}
    </div>
  );
}

function TargetFacts({ work }: { work: UnitWork }) {
  const app = useApp();
  const { text, missing, unit } = work;
  const { size, invisible } = useMemo(
    () => ({ size: sizeOf(text), invisible: invisibleTokens(text) }),
    [text],
  );
  const limits = (unit.translation?.findings ?? []).filter(({ check }) => check.startsWith('too_'));
  return (
    <div class="target-facts" id="target-facts">
      {missing.length === 0 || text === '' ? null : (
        <p class="bad">
          <span aria-hidden="true">! </span>Missing:{' '}
          {missing.slice(0, 12).map(({ start, end, kind }) => (
            <span class={`chip ${kind === 'tag' || kind === 'ruby' ? 'tag' : 'placeholder'}`} key={start}>
              {unit.source_text.slice(start, end)}
            </span>
          ))}{' '}
          <button type="button" class="plain" onClick={work.insertMark}>
            Insert <kbd>{app.keyboard.nameOf('Alt+T')}</kbd>
          </button>
        </p>
      )}
      {invisible.length === 0 ? null : (
        <p class="warn">
          <span aria-hidden="true">△ </span>
          {invisible.length === 1 ? 'An invisible character: ' : `${invisible.length} invisible characters: `}
          {[...new Set(invisible.map(({ meaning }) => meaning))].slice(0, 4).join(', ')}
        </p>
      )}
      {limits.map(({ check, message }) => (
        <p class="bad" key={check}>
          <span aria-hidden="true">! </span>
          {message}
        </p>
      ))}
      {unit.box === null || text === '' ? null : <GameBox text={text} box={unit.box} />}
      <p class="muted">
        {counted(size.characters, 'character')}, {counted(size.lines, 'line')}
      </p>
    </div>
  );
}

function sourceSpans({ unit, glossary, text }: UnitWork): readonly MarkedSpan[] {
  const terms = (glossary.value?.constraints ?? []).map(
    ({ source_span: span, recommended_translation: to }) => ({
      ...span,
      tone: 'info' as const,
      note: `Glossary: ${to}`,
    }),
  );
  const isCurrent = text === (unit.translation?.target_text ?? '');
  const found = isCurrent ? spansOf(unit.translation?.findings ?? [], 'source_span') : [];
  return [...found, ...terms];
}

function targetSpans({ unit, glossary, text }: UnitWork): readonly MarkedSpan[] {
  const isCurrent = text === (unit.translation?.target_text ?? '');
  const found = isCurrent ? spansOf(unit.translation?.findings ?? [], 'target_span') : [];
  const terms = glossary.isOld
    ? []
    : (glossary.value?.diagnostics ?? [])
        .filter(isAboutTarget)
        .flatMap(({ span, severity, message }) =>
          span === null ? [] : { ...span, tone: toneOf(severity), note: message },
        );
  const spans = [...found, ...terms];
  // Only line ends of two characters have another place in the field.
  if (!text.includes('\r')) return spans;
  return spans.map((each) => ({
    ...each,
    start: fieldOffset(text, each.start),
    end: fieldOffset(text, each.end),
  }));
}
