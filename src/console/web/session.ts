import { createContext, type Context } from 'preact';
import { useContext } from 'preact/hooks';
import type { Session } from '../api/answers/deployment.ts';

const nobody: Session = { user: '', role: 'customer', bodies: false, csrf: '', isOpen: false };

export const SessionContext: Context<Session> = createContext(nobody);

export function useSession(): Session {
  return useContext(SessionContext);
}

/** The name of events that were given up. Customers have never heard of dead letters. */
const words = {
  staff: { letter: 'Dead letter', letters: 'Dead letters', becomesLetter: 'becomes a dead letter' },
  customer: { letter: 'Given up', letters: 'Events given up', becomesLetter: 'is given up' },
} as const;

export function useWords(): Readonly<Record<keyof (typeof words)['staff'], string>> {
  return words[useSession().role === 'customer' ? 'customer' : 'staff'];
}

/** The name that the pages bear: until a screen changes the title, it is the server's. */
export const brand: string = document.title;

/** True if pages of single events may be seen: for customers, only by a link that shows bodies. */
export function mayOpenEvents({ role, bodies }: Session): boolean {
  return role !== 'customer' || bodies;
}
