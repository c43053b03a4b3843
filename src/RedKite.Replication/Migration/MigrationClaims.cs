using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;

namespace RedKite.Server.Migration;

/// <summary>
/// The keys that are on their way to other servers, each claimed by one command, and the commands that wait for them, which have no claims. It
/// is used under the service's lock. A command claims no more keys than a transfer has, and what waits is a command.
/// </summary>
internal sealed class MigrationClaims
{
    private readonly Dictionary<ulong, Claim> _claims = [];

    internal int Count => _claims.Count;

    /// <summary>Claims a key, unless another command has it.</summary>
    internal bool TryAdd(MigrationTicket ticket, ulong key)
    {
        ref Claim? claim = ref CollectionsMarshal.GetValueRefOrAddDefault(_claims, key, out bool exists);
        if (exists) return claim!.Owner == ticket; // it may be named twice
        claim = new Claim(ticket);
        ticket.Claim(key);
        return true;
    }

    /// <summary>Puts a command behind those that wait for a key.</summary>
    internal void Wait(MigrationTicket ticket, ulong key)
    {
        ticket.WaitIn(_claims[key].Waiting);
    }

    /// <summary>Ends a command's claims.</summary>
    /// <returns>The commands that have its keys now.</returns>
    internal List<MigrationTicket> ReleaseAll(MigrationTicket ticket) => ReleaseAllBut(ticket, []);

    /// <summary>Ends a command's claims of all keys but some.</summary>
    /// <returns>The commands that have those keys now.</returns>
    internal List<MigrationTicket> ReleaseAllBut(MigrationTicket ticket, HashSet<ulong> kept)
    {
        var next = new List<MigrationTicket>();
        ticket.Keys.RemoveAll(key =>
        {
            if (kept.Contains(key)) return false;
            Claim claim = _claims[key];
            if (claim.TryPass(out MigrationTicket? first))
            {
                first.Claim(key);
                next.Add(first);
            }
            else
            {
                _claims.Remove(key);
            }

            return true;
        });
        return next;
    }

    /// <summary>All commands that wait, which the caller ends.</summary>
    internal List<MigrationTicket> EndWaits() => [.. _claims.Values.SelectMany(static claim => claim.Waiting)];

    private sealed class Claim(MigrationTicket owner)
    {
        internal MigrationTicket Owner { get; private set; } = owner;

        internal LinkedList<MigrationTicket> Waiting { get; } = new();

        // Gives it to the first one that waits.
        internal bool TryPass([NotNullWhen(true)] out MigrationTicket? next)
        {
            next = Waiting.First?.Value;
            if (next is null) return false;
            Waiting.RemoveFirst();
            Owner = next;
            return true;
        }
    }
}
