import { createContext, type Context } from 'preact';
import { useContext } from 'preact/hooks';
import type { Session } from '../api/model.ts';

const nobody: Session = { user: '', role: 'customer', bodies: false, csrf: '', isOpen: false };

export const SessionContext: Context<Session> = createContext(nobody);

export function useSession(): Session {
  return useContext(SessionContext);
}

/** The name that the pages bear: until a screen changes the title, it is the server's. */
export const brand: string = document.title;

/** Whether pages of single events may be seen: of customers, only those whose link shows bodies ask for them. */
export function mayOpenEvents({ role, bodies }: Session): boolean {
  return role !== 'customer' || bodies;
}
