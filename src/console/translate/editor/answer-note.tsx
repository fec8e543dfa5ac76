import type { JSX } from 'preact';
import { FailureText } from '../../components/text.tsx';
import type { ApiFailure } from '../../api/api-client.ts';

/** Stands in for an answer that has not come. @param props `failure`: why it will not; `null` while it is on its way */
export function AnswerNote({ failure }: { readonly failure: ApiFailure | null }): JSX.Element {
  return failure === null ? (
    <p class="muted" aria-busy="true">
      Searching …
    </p>
  ) : (
    <p class="muted">
      <FailureText failure={failure} />
    </p>
  );
}
