import type { JSX } from 'preact';
import type { ApiFailure } from '../api/api-client.ts';
import { useApp, useWholeContract } from '../state/app.ts';
import { Prose } from './text.tsx';

/** A failure with its code, and the words of the daemon about it. */
export function FailureText({ failure }: { readonly failure: ApiFailure }): JSX.Element {
  const { runbooks } = useApp().contract;
  const contract = useWholeContract();
  const { code, daemon, documentation } = failure.problem;
  const meaning = contract?.problems[daemon?.code ?? ''];
  return (
    <>
      <strong>{failure.message}</strong>
      {code === undefined ? null : (
        <span class="muted">
          {' '}
          <code>{code}</code>
        </span>
      )}
      {daemon?.code ? (
        <span>
          {' The daemon says '}
          <code>{daemon.code}</code>
          {'. '}
        </span>
      ) : null}
      {meaning === undefined ? null : (
        <span>
          <Prose text={meaning} />
        </span>
      )}
      {/* Only to the runbooks of this server: the text may come from another machine. */}
      {documentation?.startsWith(runbooks) === true ? (
        <>
          {' '}
          <a href={documentation} rel="noreferrer">
            Runbook
          </a>
        </>
      ) : null}
    </>
  );
}
