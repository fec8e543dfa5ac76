import type { ComponentChildren, JSX } from 'preact';
import { useApp } from '../state/app.ts';
import { isCopied } from '../state/read-report.ts';

/** The work on a localized channel. One sentence takes its place where the channel is copied. */
export function OwnChannel({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return isCopied(useApp()) ? (
    <p class="note info">
      The localized channel is copied from its origin. People translate and publish there.
    </p>
  ) : (
    <>{children}</>
  );
}
