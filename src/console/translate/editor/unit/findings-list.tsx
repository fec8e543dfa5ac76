import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { FailureText } from '../../../components/text.tsx';
import { useApp } from '../../../state/app.ts';
import { personOf } from '../draft/editor-session.ts';
import { overrideBody, waiveBody } from '../draft/update-bodies.ts';
import { toneOf, type UnitFinding } from '../unit.ts';
import type { UnitWork } from './use-unit-work.ts';

type Opened = { readonly waive: string } | { readonly override: string } | null;

/** The findings of the checks in the stored target, and how a reviewer accepts them. */
export function FindingsList({ work }: { work: UnitWork }): JSX.Element {
  const app = useApp();
  const [opened, setOpened] = useState<Opened>(null);
  const { unit, text } = work;
  const { translation } = unit;
  if (translation === null) return <p class="muted">Not available.</p>;
  const { findings, waivers, glossary_override: override, qa_identity: identity } = translation;
  const isOld = text !== (translation.target_text ?? '');
  const mayDecide = app.mayRun('translation-task-update') && work.mayReview && !isOld;
  const isWaived = (check: string): boolean => waivers.some((each) => each.check === check);
  const mayOverride =
    mayDecide &&
    override === null &&
    findings.some(({ origin, severity }) => origin === 'glossary' && severity === 'error');
  const close = (isDone: boolean): void => {
    if (isDone) setOpened(null);
  };
  return (
    <>
      {findings.length === 0 ? (
        <p class="muted">
          {translation.target_text === null
            ? 'There is no target to check yet.'
            : 'The checks found nothing.'}
        </p>
      ) : null}
      {isOld && findings.length > 0 ? (
        <p class="muted">About the text that is stored; yours is newer.</p>
      ) : null}
      <ul class="findings">
        {findings.map((finding, at) => (
          <Finding
            key={at}
            finding={finding}
            decision={
              isWaived(finding.check)
                ? 'waived'
                : finding.origin === 'glossary' && override !== null
                  ? 'allowed'
                  : null
            }
          >
            {mayDecide && finding.waivable && !isWaived(finding.check) ? (
              <button type="button" class="plain" onClick={() => setOpened({ waive: finding.check })}>
                Waive …<span class="unseen"> {finding.check.replaceAll('_', ' ')}</span>
              </button>
            ) : null}
          </Finding>
        ))}
      </ul>
      {mayOverride && identity !== null ? (
        <button type="button" class="plain" onClick={() => setOpened({ override: identity })}>
          Allow it despite the Glossary …
        </button>
      ) : null}
      {opened === null ? null : (
        <DecisionForm
          title={decisionTitle(opened)}
          onCancel={() => setOpened(null)}
          onDecide={async (reason) => {
            const decision = { reviewer: personOf(app), reason };
            close(
              await work.decide('translation-task-update', (target) =>
                'waive' in opened
                  ? waiveBody(target, opened.waive, decision)
                  : overrideBody(target, { qaIdentity: opened.override, at: app.now() }, decision),
              ),
            );
          }}
        />
      )}
      {work.refusal === null ? null : (
        <p class="note bad" role="alert">
          <FailureText failure={work.refusal} />
        </p>
      )}
      <Decisions work={work} />
    </>
  );
}

function decisionTitle(opened: NonNullable<Opened>): string {
  return 'waive' in opened
    ? `Waive the finding “${opened.waive.replaceAll('_', ' ')}”`
    : 'Allow it despite the Glossary';
}

function Finding({
  finding: { check, severity, message, origin },
  decision,
  children,
}: {
  readonly finding: UnitFinding;
  readonly decision: 'waived' | 'allowed' | null;
  readonly children: JSX.Element | null;
}) {
  const tone = decision === null ? toneOf(severity) : 'idle';
  return (
    <li class={tone}>
      <span class="sign" aria-hidden="true">
        {tone === 'bad' ? '!' : tone === 'warn' ? '△' : '·'}
      </span>
      <span>
        <span class="unseen">{decision ?? severity}: </span>
        <bdi>{message}</bdi>
        <span class="muted">
          {' · '}
          {check.replaceAll('_', ' ')}
          {origin === 'target' ? '' : `, ${origin}`}
          {decision && `, ${decision}`}
        </span>
      </span>
      {children}
    </li>
  );
}

function Decisions({ work }: { work: UnitWork }) {
  const { waivers = [], glossary_override: override = null } = work.unit.translation ?? {};
  if (waivers.length === 0 && override === null) return null;
  return (
    <ul class="decisions muted">
      {waivers.map(({ check, reviewer, reason }) => (
        <li key={check}>
          <bdi>{reviewer}</bdi> waived {check.replaceAll('_', ' ')}: <bdi>{reason}</bdi>
        </li>
      ))}
      {override === null ? null : (
        <li>
          <bdi>{override.reviewer}</bdi> allowed it despite the Glossary: <bdi>{override.reason}</bdi>
        </li>
      )}
    </ul>
  );
}

/** Sends a form with Ctrl and Enter. */
export function submitWithKeys(event: KeyboardEvent & { readonly currentTarget: HTMLFormElement }): void {
  const { key, ctrlKey, metaKey, isComposing, currentTarget } = event;
  if (key !== 'Enter' || !(ctrlKey || metaKey) || isComposing) return;
  event.preventDefault();
  currentTarget.requestSubmit();
}

/** Asks for the reason of a decision. */
export function DecisionForm({
  title,
  label = 'Reason',
  begin = '',
  onCancel,
  onDecide,
}: {
  readonly title: string;
  readonly label?: string;
  /** What the text starts with; more must be written. */
  readonly begin?: string;
  readonly onCancel: () => void;
  readonly onDecide: (reason: string) => Promise<void>;
}): JSX.Element {
  const app = useApp();
  const [reason, setReason] = useState(begin);
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  // The attribute `autofocus` counts in a page that is loaded only.
  useEffect(() => field.current?.focus(), []);
  const isReady = reason.trim() !== begin.trim() && reason.trim() !== '' && !isBusy;
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!isReady) return;
    setBusy(true);
    await onDecide(reason.trim());
    setBusy(false);
  };
  return (
    <form
      class="decision"
      aria-label={title}
      onSubmit={(event) => void submit(event)}
      onKeyDown={submitWithKeys}
    >
      <label for="decision-reason">
        {label}, as {personOf(app)}
      </label>
      <textarea
        id="decision-reason"
        rows={2}
        value={reason}
        onInput={(event) => setReason(event.currentTarget.value)}
        ref={field}
      />
      <p class="buttons">
        <button type="submit" class="primary" disabled={!isReady}>
          {title}
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </p>
    </form>
  );
}
