// FINDS: system socket
// FINDS: system connect
// FINDS: system boost::asio::detail
#include <sys/socket.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

bool talk(boost::asio::io_context& loop) {
  boost::asio::ip::tcp::socket quiet(loop);
  quiet.open(boost::asio::ip::tcp::v4());
  const int raw = socket(AF_INET, SOCK_STREAM, 0);
  return connect(raw, nullptr, 0) == 0;
}
