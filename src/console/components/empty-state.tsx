import type { ComponentChildren, JSX } from 'preact';

/** Takes the place of a list that has nothing to show, and says what to do about it. */
export function EmptyState({
  title,
  children,
  actions,
}: {
  readonly title: string;
  /** The rows that the list will have, and the work that makes them. */
  readonly children: ComponentChildren;
  /** Buttons and links that do it. */
  readonly actions?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty-state">
      <p class="empty-title">{title}</p>
      <p class="muted">{children}</p>
      {actions === undefined ? null : <p class="buttons">{actions}</p>}
    </div>
  );
}
