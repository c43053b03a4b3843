using System.Net.Sockets;

namespace RedKite.Net.Tests;

/// <summary>Sockets that listen.</summary>
public sealed class ListeningSocketTests : IDisposable
{
    private const int Rounds = 300;
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-unix-").FullName;

    private volatile int _accepted;
    private volatile int _round;
    private volatile int _acceptedEarly;
    private volatile bool _isOver;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    // The other way round, another user could connect in between. One thread connects without a pause while the other one listens again.
    [Fact]
    public async Task Unix_socket_has_its_mode_before_it_accepts()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "there are no modes");
        string path = Path.Combine(_folder, "s");
        Task connecting = Task.Run(() => ConnectUntilOver(path), TestContext.Current.CancellationToken);
        for (int round = 0; round < Rounds; round++)
        {
            int before = _accepted;
            _round = round;
            using ListeningSocket socket = ListeningSocket.Unix(path, (int)OwnerOnly, backlog: 1000);
            Assert.True(SpinWait.SpinUntil(() => _accepted > before, 60_000), "The socket accepts.");
        }

        _isOver = true;
        await connecting;
        Assert.Equal(0, _acceptedEarly);
    }

    private void ConnectUntilOver(string path)
    {
        var address = new UnixDomainSocketEndPoint(path);
        while (!_isOver)
        {
            using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            int round = _round; // in the next one, the file is another socket's
            try
            {
                socket.Connect(address);
                if (!OperatingSystem.IsWindows() && File.GetUnixFileMode(path) != OwnerOnly && _round == round) _acceptedEarly++;
            }
            catch (Exception absent) when (absent is SocketException or FileNotFoundException)
            {
                continue;
            }

            _accepted++;
        }
    }
}
