import type { ComponentChildren, JSX } from 'preact';

export interface Step {
  readonly key: string;
  readonly text: string;
  readonly state: 'done' | 'now' | 'failed' | 'stopped';
  readonly detail: ComponentChildren;
}

const SIGNS = { done: '✓', now: '…', failed: '✕', stopped: '–' } as const;
const WORDS = { done: 'done', now: 'running', failed: 'failed', stopped: 'stopped' } as const;
const TONES = { done: 'ok', now: 'info', failed: 'bad', stopped: 'idle' } as const;

/** The steps of a long piece of work, the first one first. */
export function Stepper({ label, steps }: { label: string; steps: readonly Step[] }): JSX.Element {
  return (
    <ol class="stepper" aria-label={label}>
      {steps.map(({ key, text, state, detail }) => (
        <li key={key} class={TONES[state]} {...(state === 'now' ? { 'aria-current': 'step' as const } : {})}>
          <span class="sign" aria-hidden="true">
            {SIGNS[state]}
          </span>
          <div>
            <strong>{text}</strong> <span class="unseen">{`(${WORDS[state]})`}</span>
            <div class="muted">{detail}</div>
          </div>
        </li>
      ))}
    </ol>
  );
}
