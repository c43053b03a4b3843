using System.Net;

namespace RedKite.Dashboard.Tests;

public sealed class ConnectionSlotsTests
{
    private readonly List<string> _closed = [];
    private readonly ConnectionSlots _slots = new(address => address.Equals(IPAddress.Parse("10.9.9.9")));

    [Fact]
    public void Oldest_of_an_address_gives_way_to_its_own_new_ones()
    {
        Take("10.0.0.2", "other");
        for (int i = 0; i < ConnectionSlots.PerAddressMax + 2; i++) Take("10.0.0.1", $"{i}");
        Assert.Equal(["0", "1"], _closed);
        Assert.Equal(ConnectionSlots.PerAddressMax + 1, _slots.Count);
    }

    [Fact]
    public void Address_with_most_gives_way_to_others()
    {
        for (int i = 0; i < ConnectionSlots.CountMax; i++) Take($"10.0.{(i < 20 ? 0 : i)}.1", $"{i}");
        Take("10.1.0.1", "new");
        Assert.Equal(["0"], _closed);
        Assert.Equal(ConnectionSlots.CountMax, _slots.Count);
    }

    [Fact]
    public void Proxy_may_have_all()
    {
        for (int i = 0; i < ConnectionSlots.CountMax; i++) Take("10.9.9.9", $"{i}");
        Assert.Empty(_closed);
    }

    [Fact]
    public void Request_that_is_answered_is_not_closed()
    {
        var taken = new List<ConnectionSlots.Slot>();
        for (int i = 0; i < ConnectionSlots.PerAddressMax; i++) taken.Add(Take("10.0.0.1", $"{i}")!);
        foreach (ConnectionSlots.Slot slot in taken) slot.BeginAnswer();
        Assert.Null(Take("10.0.0.1", "new"));
        taken[7].EndAnswer();
        Assert.NotNull(Take("10.0.0.1", "new"));
        Assert.Equal(["7"], _closed);
        foreach (ConnectionSlots.Slot slot in taken) slot.Release();
        Assert.Equal(1, _slots.Count);
    }

    private ConnectionSlots.Slot? Take(string address, string name) => _slots.Take(IPAddress.Parse(address), () => _closed.Add(name));
}
