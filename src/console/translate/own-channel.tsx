import type { ComponentChildren, JSX } from 'preact';
import { Loading } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { isCopied, reportState } from '../state/read-report.ts';

/**
 * The work on a localized channel. One sentence takes its place where the channel is copied. Neither is shown until that is known;
 * after a failure each part says what is missing.
 */
export function OwnChannel({ children }: { children: ComponentChildren }): JSX.Element {
  const app = useApp();
  const { value, failure } = reportState(app, 'translation.status');
  if (value === null && failure === null) return <Loading />;
  return isCopied(app) ? (
    <p class="note info">
      The localized channel is copied from its origin. People translate and publish there.
    </p>
  ) : (
    <>{children}</>
  );
}
