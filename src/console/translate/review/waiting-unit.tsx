import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ChipText } from '../../components/chip-text.tsx';
import { DiffText } from '../../components/diff-text.tsx';
import { useApp } from '../../state/app.ts';
import { editorAddress } from '../../text/addresses.ts';
import { lookOf, spansOf, type Unit, toneOf } from '../editor/unit.ts';
import { useUnitDetail } from '../editor/unit/use-unit-detail.ts';
import { fromField, toField } from '../editor/unit/target-field.tsx';
import { submitWithKeys } from '../editor/unit/findings-list.tsx';
import { makerOf, previousTarget, readTargetOf, type Corrections } from './review-model.ts';

/** One unit that waits: its texts, what the checks found, and when open, what its target was before. */
export function WaitingUnit({
  unit,
  place,
  isChecked,
  isOpen,
  refusal,
  corrections,
  onCheck,
  onAccept,
  onOpen,
}: {
  readonly unit: Unit;
  /** Its file, in a list of several. */
  readonly place: string | null;
  readonly isChecked: boolean;
  readonly isOpen: boolean;
  readonly refusal: string | null;
  readonly corrections: Corrections;
  /** `null` where the token may not review. */
  readonly onCheck: (() => void) | null;
  /** Accepts it with another text. @returns whether it was accepted */
  readonly onAccept: (text: string) => Promise<boolean>;
  readonly onOpen: () => void;
}): JSX.Element {
  const { translation, source_text: source, placeholders } = unit;
  const findings = translation?.findings ?? [];
  const look = lookOf(translation?.state ?? 'unknown');
  return (
    <li id={`waiting-${unit.unit_id}`} class={isOpen ? 'open' : ''}>
      {onCheck === null ? null : (
        <input
          type="checkbox"
          checked={isChecked}
          aria-label={`Select ${source.slice(0, 60)}`}
          onChange={onCheck}
        />
      )}
      <div class="waiting-texts">
        <p class="waiting-head">
          <span class={`badge ${look.tone}`}>
            <span aria-hidden="true">{look.sign} </span>
            {look.word}
          </span>
          {unit.speaker === null ? null : <bdi class="muted">{unit.speaker}</bdi>}
          {place === null ? null : <bdi class="muted">{place}</bdi>}
          {makerOf(unit) === '' ? null : (
            <span class="muted">
              by <bdi>{makerOf(unit)}</bdi>
            </span>
          )}
          <button type="button" class="plain" aria-expanded={isOpen} onClick={onOpen}>
            {isOpen ? 'Less' : 'More'}
            <span class="unseen"> about {source.slice(0, 60)}</span>
          </button>
        </p>
        <div class="waiting-pair">
          <p class="muted">
            <ChipText text={source} placeholders={placeholders} />
          </p>
          <p>
            <ChipText
              text={translation?.target_text ?? ''}
              source={source}
              placeholders={placeholders}
              spans={spansOf(findings, 'target_span')}
            />
          </p>
        </div>
        <Findings findings={findings} />
        {refusal === null ? null : (
          <p class="bad waiting-refusal" role="alert">
            <span aria-hidden="true">! </span>
            <bdi>{refusal}</bdi>
          </p>
        )}
        {isOpen ? <Before unit={unit} /> : null}
        {isOpen && onCheck !== null && readTargetOf(unit) !== null ? (
          <Correction unit={unit} corrections={corrections} onAccept={onAccept} />
        ) : null}
      </div>
    </li>
  );
}

type UnitFindings = NonNullable<Unit['translation']>['findings'];

function Findings({ findings }: { findings: UnitFindings }) {
  if (findings.length === 0) return null;
  return (
    <ul class="waiting-findings">
      {findings.map(({ message, severity }, at) => (
        <li class={toneOf(severity)} key={at}>
          <span class="unseen">{severity}: </span>
          <bdi>{message}</bdi>
        </li>
      ))}
    </ul>
  );
}

/** The target in a field, to be accepted with other words. */
function Correction({
  unit,
  corrections,
  onAccept,
}: {
  readonly unit: Unit;
  readonly corrections: Corrections;
  readonly onAccept: (text: string) => Promise<boolean>;
}) {
  const stored = toField(unit.translation?.target_text ?? '');
  const [typed, setTyped] = useState(corrections.get(unit.unit_id) ?? null);
  const text = typed?.text ?? stored;
  const id = `correct-${unit.unit_id}`;
  const type = (next: string): void => {
    const correction = { base: typed?.base ?? stored, text: next };
    corrections.set(unit.unit_id, correction);
    setTyped(correction);
  };
  return (
    <form
      class="decision"
      onSubmit={(event) => {
        event.preventDefault();
        void (async () => {
          if (await onAccept(fromField(text, unit.source_text))) corrections.delete(unit.unit_id);
        })();
      }}
      onKeyDown={submitWithKeys}
    >
      <label for={id}>Target, with your corrections</label>
      {typed === null || typed.base === stored ? null : (
        <p class="note warn">
          Somebody has changed the target since you began: it is the one above. Your text replaces it.
        </p>
      )}
      <textarea
        id={id}
        rows={2}
        dir="auto"
        value={text}
        translate={false}
        onInput={(event) => type(event.currentTarget.value)}
      />
      <p class="buttons">
        <button type="submit" disabled={text === ''}>
          {text === stored ? 'Accept it' : 'Accept the corrected text'}
        </button>
      </p>
    </form>
  );
}

function Before({ unit }: { unit: Unit }) {
  const app = useApp();
  const { state } = useUnitDetail(app, unit, unit.ordinal);
  const { translation } = unit;
  const target = translation?.target_text ?? '';
  const before = previousTarget(state.value?.history ?? null, target);
  return (
    <div class="waiting-before">
      {state.value === null && state.failure === null ? <p class="muted">Reading its history …</p> : null}
      {state.value !== null && before === null ? <p class="muted">It had no other target before.</p> : null}
      {before === null ? null : (
        <p>
          <span class="muted">Before and now: </span>
          <DiffText before={before} after={target} />
        </p>
      )}
      <p>
        <a href={editorAddress(translation?.task_id ?? '', { unit: unit.unit_id, mode: 'review' })}>
          Open in the editor
        </a>
      </p>
    </div>
  );
}
