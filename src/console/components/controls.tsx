/** Buttons and choices. */

import type { ComponentChildren, JSX } from 'preact';
import { useApp, type ActionRequest } from '../state/app.ts';
import { verdictState } from '../state/verdict.ts';

interface ButtonProps {
  readonly children: ComponentChildren;
  readonly onClick: () => void;
  readonly class?: string;
  /** The object that it acts on, for screen readers, which read the button without its row. */
  readonly about?: string;
  /** Why it cannot be used now; without it the button works. */
  readonly disabledBecause?: string;
}

/** A plain button. */
export function Button({
  children,
  onClick,
  class: name = '',
  about,
  disabledBecause,
}: ButtonProps): JSX.Element {
  return (
    <button
      type="button"
      class={name}
      onClick={onClick}
      {...(disabledBecause === undefined ? {} : { disabled: true, title: disabledBecause })}
    >
      {children}
      {about === undefined ? null : <span class="unseen">{` ${about}`}</span>}
    </button>
  );
}

/** A button that opens the form of an action; nothing if the token may not run it here. */
export function ActionButton({
  request,
  ...button
}: Omit<ButtonProps, 'onClick'> & { readonly request: ActionRequest }): JSX.Element | null {
  const app = useApp();
  if (!app.mayRun(request.action)) return null;
  // The daemon runs every action, so none can succeed while it is away.
  const isAway = verdictState(app).value?.health.daemon.answers === false;
  return (
    <Button
      {...button}
      onClick={() => app.openAction(request)}
      {...(isAway ? { disabledBecause: 'The daemon does not answer' } : {})}
    />
  );
}

/** A choice of one value, with its label beside it. */
export function Select({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly options: ReadonlyArray<readonly [value: string, name: string]>;
  readonly onChange: (value: string) => void;
}): JSX.Element {
  const id = `select-${label.toLowerCase().replaceAll(' ', '-')}`;
  return (
    <div class="inline">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([option, name]) => (
          <option value={option} key={option}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Forgets the token in this tab and its storage. It has the same name wherever it is. */
export function LogOutButton({ class: name = '' }: { class?: string }): JSX.Element {
  const app = useApp();
  return (
    <Button class={name} onClick={() => void app.logOut()}>
      Log out
    </Button>
  );
}
