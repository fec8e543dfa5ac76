import type { JSX } from 'preact';
import { ChipText } from '../../components/chip-text.tsx';
import { DiffText } from '../../components/diff-text.tsx';
import { useApp } from '../../state/app.ts';
import { editorAddress } from '../../text/addresses.ts';
import { lookOf, spansOf, type Unit, toneOf } from '../editor/unit.ts';
import { useUnitDetail } from '../editor/unit/use-unit-detail.ts';
import { previousTarget } from './review-model.ts';

/** One unit that waits: its texts, what the checks found, and when open, what its target was before. */
export function WaitingUnit({
  unit,
  isChecked,
  isOpen,
  refusal,
  onCheck,
  onOpen,
}: {
  readonly unit: Unit;
  readonly isChecked: boolean;
  readonly isOpen: boolean;
  readonly refusal: string | null;
  /** `null` where the token may not review. */
  readonly onCheck: (() => void) | null;
  readonly onOpen: () => void;
}): JSX.Element {
  const { translation, source_text: source, placeholders } = unit;
  const findings = translation?.findings ?? [];
  const look = lookOf(translation?.state ?? 'unknown');
  const spans = spansOf(findings, 'target_span');
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
          {translation?.author?.token_id === null || translation?.author?.token_id === undefined ? null : (
            <span class="muted">
              by <bdi>{translation.author.token_id}</bdi>
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
              spans={spans}
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
