using RedKite.Store.Keyspace;

namespace RedKite.Store.Values.Members;

/// <summary>Elements of which some may expire, to read: the fields of a hash, the members of a set. None if the value does not exist.</summary>
internal interface IElementExpiries
{
    /// <summary>The result of <see cref="ExpiryOf"/> for a missing element.</summary>
    internal const long Missing = -2;

    /// <summary>The expiry of an element in Unix milliseconds, <see cref="Database.NoExpiry"/> or <see cref="Missing"/>.</summary>
    long ExpiryOf(scoped ReadOnlySpan<byte> element);
}

/// <summary>Elements that may be given an expiry.</summary>
internal interface IExpiringElements : IElementExpiries
{
    /// <summary>Sets or removes the expiry (<see cref="Database.NoExpiry"/>) of an element, which exists.</summary>
    void WriteExpiry(scoped ReadOnlySpan<byte> element, long expiryMs);

    /// <summary>Removes an element, if there is one.</summary>
    /// <returns>Whether there was one.</returns>
    bool Remove(scoped ReadOnlySpan<byte> element);
}
