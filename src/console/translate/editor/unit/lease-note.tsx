import type { JSX } from 'preact';
import { useApp } from '../../../state/app.ts';
import type { UnitTranslation } from '../unit.ts';

/** The person or worker on a unit, and how long the claim lasts; nothing when there is none. */
export function LeaseNote({
  translation: { claim, lease, hold },
  person,
}: {
  readonly translation: UnitTranslation;
  readonly person: string;
}): JSX.Element | null {
  const now = useApp().now();
  const isClaimed = claim !== null && claim.expires_at > now;
  const isLeased = lease !== null && lease.expires_at > now;
  if (!isClaimed && !isLeased && hold === null) return null;
  return (
    <ul class="lease-notes">
      {hold === null ? null : (
        <li class="warn">
          <span aria-hidden="true">‖ </span>On hold
          {hold.reviewer === null ? null : (
            <>
              {' '}
              by <bdi>{hold.reviewer}</bdi>
            </>
          )}
          {hold.reason === null ? null : (
            <>
              : <bdi>{hold.reason}</bdi>
            </>
          )}
        </li>
      )}
      {isClaimed ? (
        <li class={claim.owner === person ? 'ok' : 'warn'}>
          {claim.owner === person ? (
            'Yours'
          ) : (
            <>
              <bdi>{claim.owner}</bdi> works on it
            </>
          )}
          , {timeLeft(claim.expires_at - now)} left
        </li>
      ) : null}
      {isLeased ? (
        <li class="info">
          <bdi>{lease.owner}</bdi> translates it now, {timeLeft(lease.expires_at - now)} left. Your text wins.
        </li>
      ) : null}
    </ul>
  );
}

function timeLeft(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
